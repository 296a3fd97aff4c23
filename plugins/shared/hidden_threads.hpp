// Finds threads that the kernel hides from BPF programs, although /proc shows them.
//
// Known kernels show all threads. Some hosts run a kernel that hides the processes of their
// operator, including process 1. Therefore, if a pass over all threads does not visit process 1, or
// a pass over some processes does not visit each of them, the visited processes are compared with
// /proc. That costs a walk of /proc; a pass that visits process 1 costs nothing.
//
// This file identifies the threads only. The values of a listed thread come from other sources; in
// a recording they are gaps.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ctprof/files.hpp"
#include "ctprof/host.hpp"

namespace ctprof {

struct HiddenThread {
  std::uint64_t tgid = 0;
  std::uint64_t tid = 0;
  std::uint64_t start_ticks = 0;
  std::uint64_t parent = 0;
  bool is_kernel_thread = false;
  std::string name{};
};

inline constexpr std::uint32_t kFirstProcess = 1;

class HiddenThreads {
 public:
  // A thread that started after `now_ns` (CLOCK_BOOTTIME), the start of the pass, is new, not
  // hidden.
  HiddenThreads(const sdk::Host& host, std::uint64_t now_ns);

  // Returns the threads of process 1. Call it if a pass over all threads begins with another
  // process, because process 1 would come first. A kernel that hides it may hide more.
  std::vector<HiddenThread> find_in_first_process();
  // `visited_tgids`: the visited processes, ascending. `pids`: the selected processes; empty: all.
  std::vector<HiddenThread> find(std::span<const std::uint32_t> visited_tgids,
                                 std::span<const std::uint64_t> pids);

 private:
  void add_threads(std::uint64_t tgid, std::vector<HiddenThread>& found);

  sdk::Host host_;
  std::uint64_t first_tick_;
  bool hides_threads_ = false;
  sdk::TextFile file_;
};

// Parses name, start, parent and flags of a stat file; returns false if the text is not one.
bool parse_hidden_thread(std::string_view stat, HiddenThread& thread);

}  // namespace ctprof
