// The smaps_rollup files of many processes, read by a helper process: to make one, the kernel takes
// the lock on the mappings, which a thread of the process may hold for as long as a file system
// does not answer. A helper that hangs is given up (plugins/shared/helper_process.hpp), the process
// it was at is Busy, and another one goes on; after kMostLosses of them all that is left is Busy.
//
// What is here:   asking for texts.
// What is not:    what they mean (smaps_rollup.hpp).

#pragma once

#include <cerrno>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "ctprof/host.hpp"
#include "plugins/shared/helper_process.hpp"

namespace ctprof::procfs {

struct RollupText {
  int error = EBUSY;  // 0, or an errno
  std::string text{};
};

// Threads may use it at once; they take turns.
class RollupHelper {
 public:
  explicit RollupHelper(int proc) : proc_(proc) {}

  // As many answers as questions.
  std::vector<RollupText> read(std::span<const std::uint64_t> tgids);

 private:
  static constexpr int kMostLosses = 5;

  std::size_t ask(std::span<const std::uint64_t> tgids, std::span<RollupText> answers);
  bool is_ready();
  void lose(std::uint64_t tgid);

  int proc_;
  std::mutex mutex_;
  std::unique_ptr<HelperProcess> helper_;
  bool answered_ = true;
  bool late_ = false;  // or else it ended
  int losses_ = 0;
};

// One for all workers of a capture.
std::shared_ptr<RollupHelper> shared_rollup_helper(const sdk::Host& host);

// The sentences on what did not answer since they were taken last.
std::vector<std::string> take_rollup_troubles();

}  // namespace ctprof::procfs
