// Reads the code mappings of processes that existed before a recorder reported their changes:
// /proc/<pid>/maps, read when a process is first found.
//
// A process can block a reader of its maps (blocking_processes.hpp) while the kernel's ring buffers
// fill. So a separate thread reads them, and callers wait for it only for a limited time. A blocked
// thread is abandoned.
//
//   MappedCode code(proc);
// returns immediately
//   const MappedCode::Batch batch = code.take();
//
// Threads: used by one thread at a time.

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

// The code that a process had mapped at one time.
struct ProcessCode {
  std::uint64_t tgid = 0;
  std::uint64_t read_ns = 0;  // CLOCK_BOOTTIME
  std::vector<Mapping> mappings;
  std::optional<TargetOwner> owner = {};  // nullopt: it could not be read
};

// Returns the mapping that a change added. REQUIRES: its kind is CTPROF_CHANGE_MAPPED.
Mapping to_mapping(const ctprof_change& change);

class MappedCode {
 public:
  struct Batch {
    std::vector<ProcessCode> processes;
    std::uint64_t unreadable = 0;  // that had exited, may not be read, or blocked the reader
  };

  static constexpr std::chrono::milliseconds kTimeout{500};

  // Called in the reading thread with the code of each process.
  using OnRead = std::function<void(const ProcessCode& code)>;

  // `proc`: the open directory /proc; it may be closed afterwards. `timeout`: how long `take` and
  // the destructor wait for the thread. `on_read` may be called after this object is destroyed.
  explicit MappedCode(int proc, std::chrono::milliseconds timeout = kTimeout, OnRead on_read = {});
  ~MappedCode();
  MappedCode(const MappedCode&) = delete;
  MappedCode& operator=(const MappedCode&) = delete;

  void request(std::uint64_t tgid);
  // Returns the code that was read since the previous call. Waits at most `timeout` for outstanding
  // requests and then drops them.
  Batch take();

 private:
  struct Shared;

  std::shared_ptr<Shared> shared_;  // shared with the thread, which may outlive this object
  std::thread thread_;
  std::chrono::milliseconds timeout_;
};

}  // namespace ctprof
