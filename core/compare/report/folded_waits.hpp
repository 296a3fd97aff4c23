// Waits as a reader of the application sees them: stacks at which threads did not run, without what
// the kernel does to put a thread to sleep.
//
//   __schedule ← futex_do_wait ← ... ← do_syscall_64 ← pthread_mutex_lock ← handle_get ← serve
//   becomes the wait "futex" of the stack pthread_mutex_lock ← handle_get ← serve
//
// Stacks that differ only in the kernel's frames are one wait. A wait is idle, in part or as a
// whole, if the call waits for something to do (is_idle_call), or for the part of a thread that
// waited there for half of the window (GroupSigns::long_waits). Stacks of the kernel alone stay as
// they are, and are idle: they are those of its own threads.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/compare/figures/stack_book.hpp"
#include "core/compare/report/group_signs.hpp"

namespace ctprof {

struct FoldedWait {
  std::string word;                // "futex"; empty: the stack is the kernel's alone
  std::uint32_t stack = 0;         // without the kernel's frames
  std::vector<double> busy, idle;  // weights by side
};

// A stack and its weights by side.
struct WaitStack {
  std::uint32_t stack = 0;
  std::span<const double> sides;
};

// Those that weigh most first. `long_waits` are of the group on each side, in the weights' unit.
std::vector<FoldedWait> fold_waits(const StackBook& book, std::span<const WaitStack> stacks,
                                   std::span<const std::vector<LongWait>> long_waits);

}  // namespace ctprof
