// What a thread does, and which program it runs, as its stat file tells.
//
// An execve(2) keeps process id and start time, but lays out memory anew: where code and stack
// begin differs under address space randomisation; without it, program.hpp tells. The kernel shows
// the addresses to those who may trace the thread, zeros to others.
//
// What is here:   the fields, and a parser of the text.
// What is not:    reading the file; the many other fields (procfs-sched has a reader for them).

#pragma once

#include <cstdint>
#include <string_view>

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

// By a signal, or by somebody who traces it.
constexpr bool is_stopped(const ThreadImage& image) {
  return image.state == 'T' || image.state == 't';
}

}  // namespace ctprof::jemalloc
