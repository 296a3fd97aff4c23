// Walks user stacks in the kernel: a BPF program that runs at each sample (walk.bpf.c), and the
// unwind tables that it works with.
//
//   how.walk = KernelWalk::load({.depth = 127}, error);
//   how.walk->attach(event, cpu, output);         // for each event
//   how.walk->exchange(records);                  // at each drain: asks for tables, and takes them
//
// A sample whose stack it walked to the root has frames, and any other one has registers and a copy
// of the stack. When a stack first leads into a file, that sample is a copy, and the file's table
// is asked for.
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
    // The most frames of a stack. Above WALK_MOST_FRAMES, stacks that have more are copied.
    std::uint32_t depth = 127;
    bool and_copy = false;  // for tests: each sample that was walked has a copy, too, right behind
  };

  // Null, and an errno, where the kernel does not take it (ENOSYS: it was not built).
  static std::shared_ptr<KernelWalk> load(const Options& options, int& error);
  ~KernelWalk();
  KernelWalk(const KernelWalk&) = delete;
  KernelWalk& operator=(const KernelWalk&) = delete;

  // Has the program run at each sample of an event on that CPU. It writes by `output`, an event
  // that shares the ring. Both live as long as samples are taken. Returns 0, or an errno.
  int attach(int event, int cpu, int output) const;
  // The path of a file that a process maps: others may have to be asked for it soon.
  void note(const Mapped& mapped);
  // A file that has no table yet.
  void note(const Missed& missed);
  void exchange(const sdk::Records& records);
  // Sentences for the user: about processes whose walks were refused for their cost, if there are
  // more such walks since the last call, and about files whose tables found no space.
  std::string take_remark();
  // Samples that were walked, and those that were not, of threads in user space.
  struct Counts {
    std::uint64_t walked = 0, gave_up = 0;
    std::array<std::uint64_t, WALK_REASONS> by_reason{};  // of those that were not
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
