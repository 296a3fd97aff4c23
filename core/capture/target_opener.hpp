// Opens one file of another process without a time limit. The child process of target_files.hpp
// runs it; that header describes which files are opened, and with which rights.
//
// Threads: used by one thread at a time.

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
  // `proc`: the open directory /proc; it may be closed afterwards. `has_extra_rights`: whether
  // ctprof has rights that its user lacks. `max_copied_bytes`: limit for all copies that this
  // object and its copies in child processes make.
  TargetOpener(int proc, bool has_extra_rights, std::uint64_t max_copied_bytes);

  OpenedFile open(const OpenRequest& request) const;
  // Makes the bytes of closed copies available for further copies.
  void release_copied(std::uint64_t bytes) const { *remaining_copy_bytes_ += bytes; }
  // Returns the descriptors that open() uses; this object owns them.
  std::vector<int> descriptors() const { return {proc_.get(), root_.get()}; }

 private:
  sdk::Fd proc_, root_;
  bool has_extra_rights_;
  // Points to memory that these processes share.
  std::shared_ptr<std::atomic<std::uint64_t>> remaining_copy_bytes_;
};

}  // namespace ctprof
