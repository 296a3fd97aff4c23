// What a pass over sleepers takes from the kernel: records of the BPF programs, and memory of the
// threads.
//
// `KernelLooks` reads a running kernel. Tests replay input that was recorded from one, so that all
// figures can be checked exactly (tests/recorded).
//
// What is here:   the calls, and their implementation for the running kernel.
// What is not:    the records (look.h, recheck.h), what they mean (bpf_looker.hpp), copying
//                 (copier.hpp).
//
// Threads: one at a time, but for reads_from().

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>

#include "ctprof/files.hpp"
#include "plugins/sleepers/copier.hpp"
#include "plugins/sleepers/pass.hpp"
#include "plugins/sleepers/recheck.h"

struct sleepers_recheck;
struct sleepers_skeleton;

namespace ctprof::sleepers {

class LookInput {
 public:
  virtual ~LookInput() = default;
  // Begins a pass over all threads. Throws std::runtime_error when the kernel refuses, as read()
  // does.
  virtual void begin(std::uint32_t round) = 0;
  // Some more bytes of its records (struct look); 0 at the end. A record may come in pieces.
  virtual std::size_t read(std::span<std::byte> room) = 0;
  // Copies the user stacks of these sleepers of the pass; see Copier.
  virtual void copy(Pass& pass, std::span<const std::uint32_t> sleepers) = 0;
  // Room for RECHECK_MOST threads that are to be looked at again; null where the kernel cannot.
  virtual rechecked* recheck_room() = 0;
  // Looks at the first `count` of them. False where the kernel failed.
  virtual bool recheck(std::size_t count) = 0;
  // See Looker.
  virtual std::uint32_t reads_from() const = 0;
  virtual std::uint64_t reads_since_ns() const { return 0; }
  virtual bool take_over(std::uint32_t process, Pass& pass) {
    static_cast<void>(process), static_cast<void>(pass);
    return false;
  }
};

// The loaded program; nothing of it stays in the kernel once it is gone.
class Program {
 public:
  // Null, and the errno in `error`, when the kernel refuses it.
  static std::unique_ptr<Program> load(int& error);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Only of these processes; none: all. `inherits`: also of those that they fork from now on, and
  // their children. Throws std::runtime_error when the kernel refuses.
  void want(std::span<const std::uint64_t> pids, bool inherits);
  sdk::Fd begin(std::uint32_t round);

 private:
  explicit Program(sleepers_skeleton* skeleton) : skeleton_(skeleton) {}

  sleepers_skeleton* skeleton_;
};

class KernelLooks final : public LookInput {
 public:
  // `most_copied`, `avoided`: see Copier. Linux 6.2 brought what looking again takes.
  KernelLooks(std::unique_ptr<Program> program, std::size_t most_copied,
              std::set<std::uint32_t> avoided);

  void begin(std::uint32_t round) override { records_ = program_->begin(round); }
  std::size_t read(std::span<std::byte> room) override;
  void copy(Pass& pass, std::span<const std::uint32_t> sleepers) override {
    copier_.copy(pass, sleepers);
  }
  std::uint64_t reads_since_ns() const override { return copier_.reads_since_ns(); }
  bool take_over(std::uint32_t process, Pass& pass) override {
    return copier_.take_over(process, pass);
  }
  rechecked* recheck_room() override;
  bool recheck(std::size_t count) override;
  std::uint32_t reads_from() const override { return copier_.reads_from(); }

 private:
  struct Unload {
    void operator()(sleepers_recheck* program) const;
  };

  std::unique_ptr<Program> program_;
  Copier copier_;
  std::unique_ptr<sleepers_recheck, Unload> recheck_;  // null: there is none
  sdk::Fd records_;                                    // of the pass under way
};

}  // namespace ctprof::sleepers
