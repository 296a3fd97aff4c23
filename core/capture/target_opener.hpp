// Opens one file of another process, and waits for it as long as it takes: what a child process
// does for target_files.hpp, which says what is opened, and with which rights.
//
// Threads: one at a time.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/capture/open_request.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

class TargetOpener {
 public:
  // `proc`: the open directory /proc; it may be closed afterwards. `is_lent`: whether ctprof has
  // rights that its user does not have. `most_copied`: bytes of all files that are copied, by this
  // object and its copies in child processes together.
  TargetOpener(int proc, bool is_lent, std::uint64_t most_copied);

  OpenedFile open(const OpenRequest& request) const;
  // As many bytes more may be copied: copies of this size were closed.
  void give_back(std::uint64_t bytes) const { *left_to_copy_ += bytes; }
  // What `open` uses, and owns.
  std::vector<int> descriptors() const { return {proc_.get(), root_.get()}; }

 private:
  sdk::Fd proc_, root_;
  bool is_lent_;
  std::shared_ptr<std::atomic<std::uint64_t>> left_to_copy_;  // in memory of all these processes
};

}  // namespace ctprof
