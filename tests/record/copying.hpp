// The least that reading samples can cost on this machine: a floor, taken in the same run.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/base/clock.hpp"

namespace ctprof {

// What this machine takes, now, to copy that many stacks of 8 KiB from where no cache has them to a
// place that is used again and again: no reader can be cheaper. In ns of CPU time.
inline double cost_of_copying(std::uint64_t count) {
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
