// Processes whose files in /proc hold up whoever reads them.
//
// To make a stat, io or smaps_rollup file, the kernel may wait for a lock of the process, which one
// of its threads keeps for as long as a file system does not answer. Who waits there can be killed,
// but not interrupted.
//
// What is here:   which process a thread of ours is held up by, and those that were found so far.
// What is not:    giving up the thread (watched.hpp), what becomes of the rows (thread_pass.hpp,
//                 host_pass.hpp).

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

// How long a thread may make no progress before it is looked at.
inline constexpr int kPatienceSeconds = 2;

// The process under the open directory `proc` whose file the thread `tid` of ours is opening or
// reading, if it sleeps in that and cannot be interrupted. Any thread.
std::optional<std::uint64_t> held_up_by(std::uint64_t tid, int proc);

// Processes that are not to be touched again in this capture. Workers ask while the thread that
// watches them adds.
class HeldProcesses {
 public:
  // Each costs a thread and the time that it was waited for.
  static constexpr std::size_t kMost = 5;

  void add(std::uint64_t process);
  bool any() const { return count_.load(std::memory_order_acquire) > 0; }
  // Whether a process or thread is one of them; once there are kMost, everything is.
  bool has(std::uint64_t id) const;
  // For the user.
  std::vector<std::string> sentences() const;

 private:
  std::array<std::atomic<std::uint64_t>, kMost> processes_{};
  std::atomic<std::size_t> count_{0};
};

// A stretch of rows, all of them held or none.
struct HeldRun {
  std::size_t first;
  std::uint32_t rows;
  bool held;
};
// Cuts the rows from `first` on into such stretches; `tgids` are theirs.
std::vector<HeldRun> cut_at_held(const HeldProcesses& held, std::size_t first,
                                 std::span<const std::uint64_t> tgids);

}  // namespace ctprof
