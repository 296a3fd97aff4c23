// Code that processes had mapped before anybody told of their mappings: /proc/<pid>/maps, read when
// a process is first met.
//
// A process can hold up whoever reads there (held.hpp), and the kernel's rings fill meanwhile. So a
// thread of its own reads, and nobody waits for it for long; one that is held up is left behind.
//
//   MappedCode code(proc);
//   code.want(tgid);                       // returns at once
//   const MappedCode::Taken taken = code.take();
//
// Threads: one at a time.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "core/capture/target_owner.hpp"
#include "core/stacks/address_space.hpp"
#include "ctprof/abi.h"

namespace ctprof {

// What a process had mapped at one moment.
struct ProcessCode {
  std::uint64_t tgid = 0;
  std::uint64_t read_ns = 0;  // CLOCK_BOOTTIME
  std::vector<Mapping> mappings;
  std::optional<TargetOwner> owner = {};  // nothing: it could not be read
};

// What a process mapped. REQUIRES: the kind of the change is CTPROF_CHANGE_MAPPED.
Mapping mapping_of(const ctprof_change& change);

class MappedCode {
 public:
  struct Taken {
    std::vector<ProcessCode> processes;
    std::uint64_t unknown = 0;  // processes that had ended, may not be read, or held us up
  };

  static constexpr std::chrono::milliseconds kPatience{500};

  // Receives what a process has mapped, in the thread that read it.
  using Seen = std::function<void(const ProcessCode& code)>;

  // `proc`: the open directory /proc; it may be closed afterwards. `patience`: how long `take` and
  // the destructor wait for the thread. `seen` may be called after this object is destroyed.
  explicit MappedCode(int proc, std::chrono::milliseconds patience = kPatience, Seen seen = {});
  ~MappedCode();
  MappedCode(const MappedCode&) = delete;
  MappedCode& operator=(const MappedCode&) = delete;

  void want(std::uint64_t tgid);
  // What was read since the last time. Waits no longer than `patience` for what was not read yet,
  // and gives that up.
  Taken take();

 private:
  struct Shared;

  std::shared_ptr<Shared> shared_;  // the thread's, too, which may outlive this object
  std::thread thread_;
  std::chrono::milliseconds patience_;
};

}  // namespace ctprof
