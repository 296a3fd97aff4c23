// A hash of numbers that whoever writes a file cannot foresee, so that no file can make all its rows meet in one bucket. It differs from
// run to run; nothing that is told may depend on it.

#pragma once

#include <sys/auxv.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ctprof {

struct SeededHash {
  std::size_t operator()(std::uint64_t value) const {
    value ^= seed();
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    return static_cast<std::size_t>(value ^ value >> 31);
  }

 private:
  // What the kernel gave this process.
  static std::uint64_t seed() {
    static const std::uint64_t given = [] {
      std::uint64_t bytes = 0;
      if (const auto* random = reinterpret_cast<const char*>(::getauxval(AT_RANDOM))) std::memcpy(&bytes, random, sizeof bytes);
      return bytes;
    }();
    return given;
  }
};

}  // namespace ctprof
