// Reads the tops of other threads' stacks while the threads sleep.
//
// Memory of another process may be backed by a file, or by a process that delays the read on
// purpose. Therefore a separate thread reads it, and the caller waits for it only a limited time.
// Stacks that are not read in time have no copy. The thread is then abandoned with all its memory;
// the kernel ends it with the process.

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
  std::uint64_t address = 0;
  std::size_t number = 0;                // set by the caller to recognize the answer
  std::vector<std::uint8_t> bytes = {};  // as many as could be read
};

class StackTopReader {
 public:
  // Reads `size` bytes from each address, or as much as is read in time. Once it has abandoned a
  // reader thread, it reads no more.
  std::vector<StackTop> read(std::vector<StackTop> requests, std::size_t size,
                             std::chrono::milliseconds timeout);

 private:
  bool has_given_up_ = false;
};

}  // namespace ctprof::off_cpu
