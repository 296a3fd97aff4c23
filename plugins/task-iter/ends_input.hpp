// What the source of exited threads takes from the kernel: records of the BPF programs.
//
// `KernelEnds` loads the programs and reads their buffer. Tests replay records that were recorded
// from a kernel, so that all figures can be checked exactly (tests/recorded).
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
  // Begins to see threads end. `command`: a process that does not run yet, whose descendants are to
  // be marked; 0: none. Throws std::runtime_error when the kernel refuses.
  virtual void start(std::uint32_t command) = 0;
  // Processes whose children are to be told as births, too, and theirs. Before start().
  virtual void follow(std::span<const std::uint64_t> processes) { static_cast<void>(processes); }
  // Sees no more; what is in the buffer can still be read.
  virtual void stop() = 0;
  // Calls `take(bytes)` for each record, a struct of ended.h, until `take` returns false. A record
  // that was not taken comes again.
  virtual void read(const Take& take) = 0;
  // Threads that ended since start(), and whose record found no room.
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
