// Which program a thread runs, and whether its process still does.
//
// An execve(2) keeps process id and start time, but gives the process new memory. Two signs tell:
//   - A stat file has the addresses at which code and stack begin. They differ after an execve,
//   unless
//     the program was replaced by itself without address space randomisation. The kernel shows them
//     to those who may trace the thread, and zeros to others.
//   - The kernel ties an open maps file to the memory that was there when it was opened: once that
//   is
//     gone the file is empty. But in a vfork(2) child, which takes memory of its own later, the
//     file is tied to the parent's memory.
// Neither is enough, so both are asked.
//
// What is here:   the fields of stat with a parser, and the open maps file.
// What is not:    what the mappings say (finder/mappings.hpp); the many other fields of stat
//                 (procfs-sched has a reader for them).

#pragma once

#include <cstdint>
#include <string_view>

#include "ctprof/files.hpp"

namespace ctprof::jemalloc {

struct ThreadImage {
  std::uint64_t start_time = 0;  // 22: in ticks since boot
  std::uint64_t code_start = 0;  // 26
  std::uint64_t code_end = 0;    // 27
  std::uint64_t stack = 0;       // 28: where the main thread's begins
  char state = '?';              // 3; '?' when the text could not be understood
  bool kernel_thread = false;
};

ThreadImage parse_thread_image(std::string_view stat);

// Threads of one process differ in start time, and all of it else is theirs together.
constexpr bool same_program(const ThreadImage& one, const ThreadImage& other) {
  return one.code_start == other.code_start && one.code_end == other.code_end &&
         one.stack == other.stack;
}

constexpr bool has_ended(const ThreadImage& image) {
  return image.state == 'Z' || image.state == 'X';
}

// By a signal, or by a tracer.
constexpr bool is_stopped(const ThreadImage& image) {
  return image.state == 'T' || image.state == 't';
}

class Program {
 public:
  // Of a living thread; `proc` is the open directory /proc. Where the file cannot be opened, it
  // does not run.
  Program(int proc, std::uint64_t tid);

  // False also of a process that ended.
  bool still_runs() const;
  // /proc/<pid>/maps; -1 where it cannot be opened.
  int maps() const { return maps_.get(); }

 private:
  sdk::Fd maps_;
};

}  // namespace ctprof::jemalloc
