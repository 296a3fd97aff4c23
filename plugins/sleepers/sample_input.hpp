// The input of a pass over sleepers: records of the BPF programs, and memory of the threads.
//
// `KernelSampleInput` reads a running kernel. Tests replay recorded input, so that all values can
// be checked exactly (tests/recorded).
//
// See also: sleeper_sample.h and recheck.h for the records, bpf_sampler.hpp for their meaning,
// stack_copier.hpp for copying.
//
// Threads: one at a time, except for current_process().

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>

#include "ctprof/files.hpp"
#include "plugins/sleepers/pass.hpp"
#include "plugins/sleepers/recheck.h"
#include "plugins/sleepers/stack_copier.hpp"

struct sleepers_recheck;
struct sleepers_skeleton;

namespace ctprof::sleepers {

class SampleInput {
 public:
  virtual ~SampleInput() = default;
  // Starts a pass over all threads. Like read(), throws std::runtime_error if the kernel refuses.
  virtual void begin(std::uint32_t round) = 0;
  // Returns more bytes of its records (struct sleeper_sample); 0 at the end. A record may be split.
  virtual std::size_t read(std::span<std::byte> buffer) = 0;
  // Copies the user stacks of these sleepers of the pass; see StackCopier.
  virtual void copy(Pass& pass, std::span<const std::uint32_t> sleepers) = 0;
  // Returns space for RECHECK_MAX_THREADS threads to sample again; null if the kernel does not
  // support this.
  virtual recheck_entry* recheck_buffer() = 0;
  // Samples the first `count` of them again. Returns false if the kernel failed.
  virtual bool recheck(std::size_t count) = 0;
  // See Sampler.
  virtual std::uint32_t current_process() const = 0;
  virtual std::uint64_t read_start_ns() const { return 0; }
  virtual bool take_over(std::uint32_t process, Pass& pass) {
    static_cast<void>(process), static_cast<void>(pass);
    return false;
  }
};

// The loaded program. It is unloaded with this object.
class Program {
 public:
  // Returns null, and sets `error` to the errno, if the kernel refuses the program.
  static std::unique_ptr<Program> load(int& error);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Limits passes to these processes; empty: all. `inherits` also includes processes that they fork
  // from now on, and their descendants. Throws std::runtime_error if the kernel refuses.
  void select_processes(std::span<const std::uint64_t> pids, bool inherits);
  sdk::Fd begin(std::uint32_t round);

 private:
  explicit Program(sleepers_skeleton* skeleton) : skeleton_(skeleton) {}

  sleepers_skeleton* skeleton_;
};

class KernelSampleInput final : public SampleInput {
 public:
  // For the last two arguments see StackCopier. Sampling again needs Linux 6.2.
  KernelSampleInput(std::unique_ptr<Program> program, std::size_t max_copied_bytes,
                    std::set<std::uint32_t> avoided_processes);

  void begin(std::uint32_t round) override { records_ = program_->begin(round); }
  std::size_t read(std::span<std::byte> buffer) override;
  void copy(Pass& pass, std::span<const std::uint32_t> sleepers) override {
    copier_.copy(pass, sleepers);
  }
  std::uint64_t read_start_ns() const override { return copier_.read_start_ns(); }
  bool take_over(std::uint32_t process, Pass& pass) override {
    return copier_.take_over(process, pass);
  }
  recheck_entry* recheck_buffer() override;
  bool recheck(std::size_t count) override;
  std::uint32_t current_process() const override { return copier_.current_process(); }

 private:
  struct Unloader {
    void operator()(sleepers_recheck* program) const;
  };

  std::unique_ptr<Program> program_;
  StackCopier copier_;
  std::unique_ptr<sleepers_recheck, Unloader> recheck_;  // null: not supported
  sdk::Fd records_;                                      // of the current pass
};

}  // namespace ctprof::sleepers
