// Finds the descendants of processes through parent ids in /proc, on hosts where no source reports
// forks. Misses a process whose parent exited, because the kernel assigned it another parent.

#pragma once

#include <cstdint>
#include <vector>

namespace ctprof {

// Returns the living processes that started at `since_ticks` or later (ticks since boot) and whose
// parent is in `family` or is such a descendant itself. `proc`: the open directory /proc.
std::vector<std::uint64_t> find_descendants(int proc, const std::vector<std::uint64_t>& family,
                                            std::uint64_t since_ticks);

}  // namespace ctprof
