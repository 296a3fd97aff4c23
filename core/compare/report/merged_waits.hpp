// Reduces stacks of waiting threads to the view of the application: removes the kernel frames that
// put the thread to sleep.
//
//   __schedule ← futex_do_wait ← ... ← do_syscall_64 ← pthread_mutex_lock ← handle_get ← serve
//   becomes the wait "futex" of the stack pthread_mutex_lock ← handle_get ← serve
//
// Stacks that differ only in kernel frames become one wait. A wait is idle if the call waits for
// work (is_idle_call). The part of a wait that belongs to threads that waited there for half of the
// window is also idle (GroupSigns::long_waits). Stacks that contain only kernel frames belong to
// kernel threads; they are kept unchanged and are idle.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/compare/figures/common_stacks.hpp"
#include "core/compare/report/group_signs.hpp"

namespace ctprof {

struct MergedWait {
  std::string call;         // "futex"; empty: the stack has only kernel frames
  std::uint32_t stack = 0;  // without the kernel frames
  std::vector<double> busy_weights, idle_weights;  // weights by side
};

// A stack and its weight on each side.
struct WaitStack {
  std::uint32_t stack = 0;
  std::span<const double> weights;
};

// Returns the waits by descending weight. `long_waits` are those of the group on each side, in the
// unit of the weights.
std::vector<MergedWait> merge_waits(const CommonStacks& common, std::span<const WaitStack> stacks,
                                    std::span<const std::vector<LongWait>> long_waits);

}  // namespace ctprof
