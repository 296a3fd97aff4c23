// Identifies the program that a thread runs, and checks whether its process still runs it.
//
// An execve(2) keeps process id and start time, but gives the process new memory. There are two
// indications:
//   - A stat file contains the addresses at which code and stack begin. They differ after an
//     execve, unless the process executed the same program again without address space
//     randomisation. The kernel shows them to processes that may trace the thread, and zeros to
//     others.
//   - An open maps file belongs to the memory that existed when it was opened: once that memory is
//     freed, the file is empty. But in a vfork(2) child, which gets memory of its own later, the
//     file belongs to the parent's memory.
// Neither is sufficient, so both are used.
//
// Contains the fields of stat with a parser, and the open maps file.
// See also: finder/mappings.hpp for the contents of maps; procfs-sched reads the other fields of
// stat.

#pragma once

#include <cstdint>
#include <string_view>

#include "ctprof/files.hpp"

namespace ctprof::jemalloc {

struct ThreadImage {
  std::uint64_t start_time = 0;   // 22: in ticks since boot
  std::uint64_t code_start = 0;   // 26
  std::uint64_t code_end = 0;     // 27
  std::uint64_t stack_start = 0;  // 28: start of the main thread's stack
  char state = '?';               // 3; '?' if the text could not be parsed
  bool is_kernel_thread = false;
};

ThreadImage parse_thread_image(std::string_view stat);

// Threads of one process differ in start time; the other fields are those of the process.
constexpr bool is_same_program(const ThreadImage& one, const ThreadImage& other) {
  return one.code_start == other.code_start && one.code_end == other.code_end &&
         one.stack_start == other.stack_start;
}

constexpr bool has_exited(const ThreadImage& image) {
  return image.state == 'Z' || image.state == 'X';
}

// Returns whether a signal or a tracer stopped the thread.
constexpr bool is_stopped(const ThreadImage& image) {
  return image.state == 'T' || image.state == 't';
}

class Program {
 public:
  // Opens the maps of a living thread; `proc` is the open directory /proc. If the file cannot be
  // opened, is_still_running() returns false.
  Program(int proc, std::uint64_t tid);

  // Also returns false for an exited process.
  bool is_still_running() const;
  // Returns /proc/<pid>/maps; -1 if it could not be opened.
  int maps() const { return maps_.get(); }

 private:
  sdk::Fd maps_;
};

}  // namespace ctprof::jemalloc
