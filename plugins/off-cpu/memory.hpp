// The tops of other threads' stacks, read while the threads sleep.
//
// Memory of another process may be a file's, or be handed out by whoever likes to make us wait. So
// a thread reads that nobody waits for longer than a moment: who is too slow has no copy, and the
// thread is left behind with all that it holds. The kernel ends it with the process.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace ctprof::off_cpu {

struct StackTop {
  std::uint64_t tgid = 0;
  std::uint64_t from = 0;
  std::size_t number = 0;                // the caller's
  std::vector<std::uint8_t> bytes = {};  // as many as could be had
};

class StackTops {
 public:
  // Reads `size` bytes from each address on, or as much as there is in time. Once it had to leave a
  // reader behind, it reads no more.
  std::vector<StackTop> read(std::vector<StackTop> wanted, std::size_t size,
                             std::chrono::milliseconds patience);

 private:
  bool gave_up_ = false;
};

}  // namespace ctprof::off_cpu
