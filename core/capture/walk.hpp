// Walks /proc: which processes there are, and which threads a process has.
//
// Only names are read, nothing of a thread itself. Directory entries are read in large pieces
// (getdents64), because with ten thousand threads the walk is a measurable part of a capture.

#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.hpp"

namespace ctprof {

struct ThreadId {
  std::uint64_t tgid = 0;
  std::uint64_t tid = 0;
};

// Reads directories into a buffer of its own. Threads: one per walker.
class Walker {
 public:
  // The process ids under the open directory `proc`, ascending. Fails if it cannot be read.
  Result<std::vector<std::uint64_t>> processes(int proc);
  // Appends the threads of a process, ascending. Returns 0, or the errno of a failed open, as for a
  // process that has exited.
  int threads(int proc, std::uint64_t tgid, std::vector<ThreadId>& out);

 private:
  bool numbers(int directory, std::vector<std::uint64_t>& out);

  std::vector<char> buffer_ = std::vector<char>(64 * 1024);
};

// Some thread that exists, to try things on: of the first process with memory of its own if there
// is one, else of any; {0, 0} if there is none.
ThreadId first_thread(int proc);

}  // namespace ctprof
