// Detects processes whose /proc files block their reader, so that a capture can skip them.
//
// To produce a stat, io or smaps_rollup file, the kernel may wait for a lock of the process. A
// thread of that process holds the lock for as long as a file system does not answer. A thread that
// waits for this lock can be killed, but not interrupted.
//
// See also: watched_workers.hpp replaces the blocked worker; thread_pass.hpp and host_pass.hpp fill
// the rows of such processes.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ctprof {

// The time after which a worker without progress is checked.
inline constexpr int kTimeoutSeconds = 2;

// Returns the process whose file below the open directory `proc` the thread `tid` of ctprof is
// opening or reading, if that thread is in uninterruptible sleep. Any thread may call it.
std::optional<std::uint64_t> find_blocking_process(std::uint64_t tid, int proc);

// The processes whose files are not read again in this capture. Workers query the set while the
// thread that watches them adds to it.
class BlockingProcesses {
 public:
  // Each blocking process costs one worker thread and one timeout.
  static constexpr std::size_t kMaxProcesses = 5;

  void add(std::uint64_t process);
  bool is_any() const { return count_.load(std::memory_order_acquire) > 0; }
  // Returns whether a process or thread is in the set; once it contains kMaxProcesses, always true.
  bool contains(std::uint64_t id) const;
  // Returns one message per process for the user.
  std::vector<std::string> messages() const;

 private:
  std::array<std::atomic<std::uint64_t>, kMaxProcesses> processes_{};
  std::atomic<std::size_t> count_{0};
};

// Consecutive rows that all belong to blocking processes, or all do not.
struct BlockingRun {
  std::size_t first;
  std::uint32_t rows;
  bool is_blocking;
};
// Divides the rows from `first` on into such runs; `tgids` has one entry per row.
std::vector<BlockingRun> split_by_blocking(const BlockingProcesses& blocking, std::size_t first,
                                           std::span<const std::uint64_t> tgids);

}  // namespace ctprof
