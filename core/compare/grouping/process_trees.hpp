// Process trees: a process and all that it started, as far as they are in its cgroup.
//
//   systemd(1) ─ sshd(7) ─ bash(20) ─ make(30) ─ cc1plus(31)     all in bash[20], if sshd is in
//                                                                another cgroup than bash
//
// The root of a tree is the ancestor that the kernel or process 1 started, or one in another
// cgroup, or one that is in no row. Threads of the kernel are one tree, kthreadd's. A process whose
// parent exited belongs to the process that adopted it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// REQUIRES: the snapshot outlives this.
class ProcessTrees {
 public:
  explicit ProcessTrees(const Snapshot& snapshot);

  // "bash[20]", for a row of threads; a thread without a process id has the empty name.
  std::string of_thread(std::size_t row) const;

 private:
  bool in_one_cgroup(std::size_t a, std::size_t b) const;
  std::size_t root_of(std::size_t row) const;

  const Snapshot* snapshot_;
  std::span<const std::uint64_t> tgids_, parents_;
  const Column *parent_, *names_, *cgroups_;
  std::unordered_map<std::uint64_t, std::size_t> row_of_;  // of a process's first thread, by tgid
};

}  // namespace ctprof
