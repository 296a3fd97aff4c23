// A pass over all threads of the host: the kernel runs our program for each, and we read what it
// wrote.
//
// Loading is what costs, a few milliseconds: the plugin's context (context.hpp) keeps the program.
// It has room for one record, so that passes take turns.
//
// What is here:   loading, and reading records.
// What is not:    what a record says (decode.hpp), what a host lacks (probe.cc).

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "ctprof/files.hpp"
#include "plugins/task-iter/record.h"

struct task_iter_skeleton;

namespace ctprof::task_iter {

// Bytes of a record whose set of CPUs has so many words.
constexpr std::size_t record_size(std::uint32_t cpu_words) {
  return RECORD_FIXED + cpu_words * sizeof(std::uint64_t);
}

class Program {
 public:
  // Loads and attaches it; null, and the errno in `error`, when the kernel refuses it.
  static std::unique_ptr<Program> load(int& error);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

 private:
  friend class Pass;
  explicit Program(task_iter_skeleton* skeleton) : skeleton_(skeleton) {}

  task_iter_skeleton* skeleton_;
  std::mutex turn_;
};

// Which threads, and how many words of their sets of CPUs.
struct Wanted {
  std::uint32_t tgid = 0;  // 0: all
  std::uint32_t cpu_words = 1;
};

// One pass. It holds the program's turn until it is gone. Throws std::runtime_error when the kernel
// does not play along.
class Pass {
 public:
  Pass(Program& program, const Wanted& wanted);

  // Some more records, one after the other, record_size apart; none at the end. They live until the
  // next call.
  std::span<const std::byte> read();
  // The same into memory of the caller's. REQUIRES: room for most_bytes().
  std::size_t read_into(std::byte* room);
  std::size_t most_bytes() const { return asked_; }

 private:
  std::lock_guard<std::mutex> turn_;
  std::size_t record_size_;
  std::size_t asked_;              // bytes at a time: whole records
  std::vector<std::byte> buffer_;  // with room behind, for the last record is shorter than its type
  sdk::Fd records_;
};

}  // namespace ctprof::task_iter
