// The processes that descend from others, by their parents in /proc: for hosts where no source
// reports forks. A process whose parent exited has another parent by then, and is missed.

#pragma once

#include <cstdint>
#include <vector>

namespace ctprof {

// The living processes that started at `since_ticks` or later, in ticks since boot, and whose
// parent is one of `family` or descends from it in the same way. `proc`: the open directory /proc.
std::vector<std::uint64_t> children_of(int proc, const std::vector<std::uint64_t>& family,
                                       std::uint64_t since_ticks);

}  // namespace ctprof
