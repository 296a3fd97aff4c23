// Formats waits as text: the application's function, the function that it called, and the system
// call that waited.
//
//   waits      %  application → library (system call) ← caller
//   4.20s  98.6%  handle_get → pthread_mutex_lock (futex) ← serve ← main
//
// See also: compare/report/merged_waits.hpp (which stacks count as one wait, and which are idle).

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/compare/report/merged_waits.hpp"

namespace ctprof {

inline constexpr std::string_view kWaitColumn = "application → library (system call) ← caller";

// Formats a wait within `width`, like format_stack().
std::string format_wait(const CommonStacks& common, const MergedWait& wait, std::size_t width);

}  // namespace ctprof
