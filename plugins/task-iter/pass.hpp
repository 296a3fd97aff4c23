// A pass over all threads of the host: the kernel runs the BPF program for each thread, and ctprof
// reads its records.
//
// Loading takes a few milliseconds, so the plugin's context (context.hpp) keeps the program. The
// program has space for one record, so passes run one after the other.
//
// See also: decode.hpp for the meaning of records, probe.hpp for the probe.

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

// Returns the size of a record whose set of CPUs has this number of words.
constexpr std::size_t record_size(std::uint32_t cpu_words) {
  return RECORD_FIXED + cpu_words * sizeof(std::uint64_t);
}

class Program {
 public:
  // Loads and attaches the program. Returns null, and sets `error` to the errno, if the kernel
  // refuses it.
  static std::unique_ptr<Program> load(int& error);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

 private:
  friend class Pass;
  explicit Program(task_iter_skeleton* skeleton) : skeleton_(skeleton) {}

  task_iter_skeleton* skeleton_;
  std::mutex pass_mutex_;
};

// The selected process, and the number of words in sets of CPUs.
struct PassSelection {
  std::uint32_t tgid = 0;  // 0: all
  std::uint32_t cpu_words = 1;
};

// A sequence of records. An interface, so that tests can read ahead of records of their own.
class RecordReader {
 public:
  virtual ~RecordReader() = default;
  // Returns the next records, consecutive, record_size apart; none at the end. They are valid until
  // the next call.
  virtual std::span<const std::byte> read() = 0;
  // Reads into memory of the caller; returns the bytes that were read, 0 at the end. REQUIRES:
  // `buffer` has at least max_bytes() bytes.
  virtual std::size_t read_into(std::byte* buffer) = 0;
  virtual std::size_t max_bytes() const = 0;
};

// One pass. It locks the program during its lifetime. Throws std::runtime_error if the kernel
// reports an error.
class Pass final : public RecordReader {
 public:
  Pass(Program& program, const PassSelection& selection);

  std::span<const std::byte> read() override;
  std::size_t read_into(std::byte* buffer) override;
  std::size_t max_bytes() const override { return bytes_per_read_; }

 private:
  std::lock_guard<std::mutex> lock_;
  std::size_t record_size_;
  std::size_t bytes_per_read_;     // bytes per read: whole records
  std::vector<std::byte> buffer_;  // has space at the end, because the last record is shorter than
                                   // its type
  sdk::Fd records_;
};

}  // namespace ctprof::task_iter
