// The program that a process runs: whether it still does.
//
// An execve(2) gives a process new memory, and the kernel ties an open maps file to the memory that
// was there when it was opened: once that is gone the file is empty. A comparison of addresses
// (thread_image.hpp) says less: without address space randomisation a program that was replaced by
// itself has them all again. But only that tells of a vfork(2) child which took memory of its own,
// for the file is tied to its parent's then; so both are asked.
//
// What is here:   the tie.
// What is not:    what the mappings say (finder/mappings.hpp), what a single thread does
// (thread_image.hpp).

#pragma once

#include <cstdint>

#include "ctprof/files.hpp"

namespace ctprof::jemalloc {

class Program {
 public:
  // Of a living thread; `proc` is the open directory /proc. Where the file cannot be opened, it
  // does not run.
  Program(int proc, std::uint64_t tid);

  // False also of a process that ended.
  bool still_runs() const;

 private:
  sdk::Fd maps_;
};

}  // namespace ctprof::jemalloc
