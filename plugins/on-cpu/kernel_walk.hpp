// Walks user stacks in the kernel: loads the BPF program that runs at each sample (walk.bpf.c), and
// provides its unwind tables.
//
//   sampling.walk = KernelWalk::load({.depth = 300}, error);
//   sampling.walk->attach(event, cpu, output);    // for each event
//   sampling.walk->exchange(records);             // at each drain: requests and stores tables
//
// A sample whose stack was walked to the root has frames; any other one has registers and a copy of
// the stack. When a stack first leads into a file, that sample is a copy, and the file's table is
// requested.
//
// Threads: one at a time, after it is loaded.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "ctprof/records.hpp"
#include "plugins/on-cpu/records.hpp"
#include "plugins/shared/walk_accounts.hpp"
#include "plugins/shared/walk_requests.hpp"
#include "plugins/shared/walk_state.h"
#include "plugins/shared/walk_tables.hpp"

struct on_cpu_walk;

namespace ctprof::on_cpu {

class KernelWalk {
 public:
  struct Options {
    // The largest number of frames of a stack. Above WALK_MAX_FRAMES, deeper stacks are copied.
    std::uint32_t depth = WALK_MAX_FRAMES;
    bool also_copies = false;  // for tests: each walked sample is followed by a copy
  };

  // Returns null, and sets `error` to an errno, if the kernel refuses the program (ENOSYS: it was
  // not built).
  static std::shared_ptr<KernelWalk> load(const Options& options, int& error);
  ~KernelWalk();
  KernelWalk(const KernelWalk&) = delete;
  KernelWalk& operator=(const KernelWalk&) = delete;

  // Attaches the program to an event on that CPU, so that it runs at each sample. It writes with
  // `output`, an event that shares the ring. Both must exist as long as samples are taken. Returns
  // 0, or an errno.
  int attach(int event, int cpu, int output) const;
  // Stores the path of a file that a process maps, because its table may be requested soon.
  void add_path(const FileMapping& mapped);
  // Adds a request for a file without a table.
  void add_miss(const MissingTable& missed);
  void exchange(const sdk::Records& records);
  // Ends a window. The first one begins when recording begins.
  void end_window() const;
  // Returns sentences for the user about processes whose walks were refused for their cost in the
  // window that ended last, or later, and about files whose tables did not fit.
  std::string describe_window() const;
  // Numbers of walked samples and of copied ones, of threads in user space.
  struct Counts {
    std::uint64_t walked = 0, copied = 0;
    std::array<std::uint64_t, WALK_REASONS> by_reason{};  // copied samples by reason
  };
  Counts counts() const;

 private:
  KernelWalk() = default;

  on_cpu_walk* program_ = nullptr;
  std::unique_ptr<WalkTables> tables_;
  std::unique_ptr<WalkAccounts> accounts_;
  WalkRequests requests_;
};

}  // namespace ctprof::on_cpu
