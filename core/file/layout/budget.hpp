// What a file's reader may use, in memory and in work, in proportion to what it has read.

#pragma once

#include <algorithm>
#include <cstddef>

#include "core/file/layout/limits.hpp"
#include "core/snapshot/pool.hpp"

namespace ctprof {

struct Budget {
  const Pools* pools = nullptr;
  std::size_t text = 0;     // bytes of JSON so far
  std::size_t columns = 0;  // bytes that cells take
  std::size_t things = 0;   // that pools and kept keys hold, counted generously
  std::size_t kept = 0;     // bytes of kept JSON

  bool is_exceeded() const {
    const std::size_t used = columns + kept + pools->bytes() + things * limits::kPooledOverhead;
    return used > std::min(limits::kMemory, limits::kFreeMemory + limits::kMemoryPerByte * text);
  }
};

// What may still be done with a file's text once it is read, in cells set and names looked up.
class Work {
 public:
  explicit Work(std::size_t text) : left_(limits::kFreeWork + limits::kWorkPerByte * text) {}
  // False when it is more than is left.
  bool spend(std::size_t steps) {
    if (steps > left_) return false;
    left_ -= steps;
    return true;
  }

 private:
  std::size_t left_;
};

}  // namespace ctprof
