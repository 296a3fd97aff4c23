// The input of the source of exited threads: records of the BPF programs.
//
// `KernelEnds` loads the programs and reads their buffer. Tests replay records from a real kernel,
// so that all values can be checked exactly (tests/recorded).
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

struct task_ends_skeleton;

namespace ctprof::task_iter {

class EndsInput {
 public:
  using Take = std::function<bool(std::span<const std::byte>)>;

  virtual ~EndsInput() = default;
  // Starts to record exits. `command`: a process that does not run yet, whose descendants are
  // marked; 0: none. Throws std::runtime_error if the kernel refuses.
  virtual void start(std::uint32_t command) = 0;
  // Selects processes whose descendants are reported when they are created. REQUIRES: start() was
  // not called.
  virtual void follow(std::span<const std::uint64_t> processes) { static_cast<void>(processes); }
  // Stops recording; records in the buffer can still be read.
  virtual void stop() = 0;
  // Calls `take(bytes)` for each record, a struct of ended.h, until `take` returns false. A record
  // that was refused is delivered again.
  virtual void read(const Take& take) = 0;
  // Returns the number of threads that exited since start() and whose record did not fit.
  virtual std::uint64_t lost() const = 0;
};

class KernelEnds final : public EndsInput {
 public:
  void start(std::uint32_t command) override;
  void follow(std::span<const std::uint64_t> processes) override {
    followed_.assign(processes.begin(), processes.end());
  }
  void stop() override;
  void read(const Take& take) override { ring_->read(take); }
  std::uint64_t lost() const override;

 private:
  struct Unload {
    void operator()(task_ends_skeleton* skeleton) const;
  };

  std::unique_ptr<task_ends_skeleton, Unload> programs_;
  std::unique_ptr<Ring> ring_;
  std::vector<std::uint64_t> followed_;
};

}  // namespace ctprof::task_iter
