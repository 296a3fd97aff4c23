// Walking /proc: which processes there are, and which threads a process has.
//
// Names only; nothing of a thread is read. Directory entries come in big pieces (getdents64),
// because at ten thousand threads the walk itself is a cost that shows.

#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.hpp"

namespace ctprof {

struct ThreadId {
  std::uint64_t tgid = 0;
  std::uint64_t tid = 0;
};

// Reads directories into one buffer that it keeps.
class Walker {
 public:
  // The numeric names under the open directory `proc`, ascending; the error is the errno of a
  // failed read.
  Result<std::vector<std::uint64_t>> processes(int proc);
  // Appends the threads of a process, ascending; one that is gone has none. Returns the errno with
  // which it could not be opened, or 0.
  int threads(int proc, std::uint64_t tgid, std::vector<ThreadId>& out);

 private:
  bool numbers(int directory, std::vector<std::uint64_t>& out);

  std::vector<char> buffer_ = std::vector<char>(64 * 1024);
};

// A thread that exists, to try things on: the first process with a readable stat that is not a
// kernel thread, or else any; {0, 0} when there is none.
ThreadId first_thread(int proc);

}  // namespace ctprof
