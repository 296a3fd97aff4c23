// Threads that the kernel keeps from BPF programs, though /proc shows them.
//
// The kernels that we know show all. Some hosts run one that hides processes of their keeper, the
// first among them: so where a pass over all did not meet process 1, or one over some processes did
// not meet each, what it met is compared with /proc. That costs a walk; a pass that met process 1
// costs nothing.
//
// What is here:   finding them, and who they are.
// What is not:    their figures: of a list the core has other sources fill them, of a recording
//                 they are gaps.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ctprof/files.hpp"
#include "ctprof/host.hpp"

namespace ctprof {

struct UnseenThread {
  std::uint64_t tgid = 0;
  std::uint64_t tid = 0;
  std::uint64_t start_ticks = 0;
  std::uint64_t parent = 0;
  bool kernel_thread = false;
  std::string name{};
};

inline constexpr std::uint32_t kFirstProcess = 1;

class Unseen {
 public:
  // Who started after `now_ns` (CLOCK_BOOTTIME), when the pass began, is new, not hidden.
  Unseen(const sdk::Host& host, std::uint64_t now_ns);

  // Of the first process, where a pass over all begins with another: it would come first, and who
  // hides it may hide more.
  std::vector<UnseenThread> first();
  // `seen`: the processes that were met, ascending. `pids`: only these were wanted; none: all.
  std::vector<UnseenThread> find(std::span<const std::uint32_t> seen,
                                 std::span<const std::uint64_t> pids);

 private:
  void add_threads(std::uint64_t tgid, std::vector<UnseenThread>& found);

  sdk::Host host_;
  std::uint64_t first_tick_;
  bool hides_ = false;
  sdk::TextFile file_;
};

// Name, start, parent and flags out of a stat file; false when it is none.
bool parse_unseen(std::string_view stat, UnseenThread& thread);

}  // namespace ctprof
