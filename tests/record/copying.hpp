// The minimum cost of reading samples on this machine, measured in the same run.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/base/clock.hpp"

namespace ctprof {

// Returns the CPU time, in ns, that this machine needs now to copy `count` stacks of 8 KiB from
// uncached memory to a reused buffer. No reader can be cheaper.
inline double measure_copying_cost(std::uint64_t count) {
  constexpr std::size_t kStack = 8 * 1024, kStacks = 8 * 1024;
  const std::vector<char> memory(kStack * kStacks, 'x');
  std::array<char, kStack> copy;
  const std::uint64_t before = thread_cpu_time_ns();
  for (std::uint64_t i = 0; i < count; ++i) {
    std::memcpy(copy.data(), memory.data() + i * 7 % kStacks * kStack, kStack);
    asm volatile("" : : "r"(copy.data()) : "memory");
  }
  return static_cast<double>(thread_cpu_time_ns() - before);
}

}  // namespace ctprof
