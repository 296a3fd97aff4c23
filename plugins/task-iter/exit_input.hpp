// The input of the source of exited threads: records of the BPF programs.
//
// `KernelExitInput` loads the programs and reads their buffer. Tests replay records from a real
// kernel, so that all values can be checked exactly (tests/recorded).
//
// Threads: one at a time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "plugins/task-iter/ring.hpp"

struct thread_exits_skeleton;

namespace ctprof::task_iter {

class ExitInput {
 public:
  using RecordCallback = std::function<bool(std::span<const std::byte>)>;

  virtual ~ExitInput() = default;
  // Starts to record exits. `command`: a process that does not run yet, whose descendants are
  // marked; 0: none. Throws std::runtime_error if the kernel refuses.
  virtual void start(std::uint32_t command) = 0;
  // Selects processes whose descendants are reported when they are created. REQUIRES: start() was
  // not called.
  virtual void follow(std::span<const std::uint64_t> processes) { static_cast<void>(processes); }
  // Stops recording; records in the buffer can still be read.
  virtual void stop() = 0;
  // Calls handle_record(bytes) for each record, a struct of exit_records.h, until it returns false.
  // A record that was refused is delivered again.
  virtual void read(const RecordCallback& handle_record) = 0;
  // Returns the number of threads that exited since start() and whose record did not fit.
  virtual std::uint64_t lost_count() const = 0;
};

class KernelExitInput final : public ExitInput {
 public:
  void start(std::uint32_t command) override;
  void follow(std::span<const std::uint64_t> processes) override {
    followed_processes_.assign(processes.begin(), processes.end());
  }
  void stop() override;
  void read(const RecordCallback& handle_record) override { ring_->read(handle_record); }
  std::uint64_t lost_count() const override;

 private:
  struct Unloader {
    void operator()(thread_exits_skeleton* skeleton) const;
  };

  std::unique_ptr<thread_exits_skeleton, Unloader> programs_;
  std::unique_ptr<Ring> ring_;
  std::vector<std::uint64_t> followed_processes_;
};

}  // namespace ctprof::task_iter
