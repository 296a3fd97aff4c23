// Process trees: a process and all that it started, as far as they are in its cgroup.
//
//   systemd(1) ─ sshd(7) ─ bash(20) ─ make(30) ─ cc1plus(31)     all in bash[20], if sshd is in
//                                                                another cgroup than bash
//
// The root of a tree is the ancestor that the kernel or process 1 started, or one in another
// cgroup, or one that is in no row. Threads of the kernel are one tree, kthreadd's. A process whose
// parent exited belongs to the process that adopted it.
//
// Rows that only the opening of a window has lack the processes that live: a search for their
// parents continues in the window.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/snapshot/snapshot.hpp"

namespace ctprof {

class ProcessTrees {
 public:
  // `rest` has the processes that have no row in the snapshot; null: there are none. REQUIRES: both
  // outlive this.
  explicit ProcessTrees(const Snapshot& snapshot, const ProcessTrees* rest = nullptr);

  // "bash[20]", for a row of threads; a thread without a process id has the empty name. Valid as
  // long as this.
  std::string_view of_thread(std::size_t row);

 private:
  // A row of threads, of this or of `rest`.
  struct Place {
    const ProcessTrees* trees;
    std::size_t row;
  };
  static bool in_one_cgroup(const Place& a, const Place& b);
  std::string_view text(const Column* column, std::size_t row) const;  // empty without a value
  std::optional<Place> find(std::uint64_t tgid) const;
  std::optional<Place> parent_of(std::size_t row) const;
  std::string tree_of(std::size_t row) const;

  const Snapshot* snapshot_;
  const ProcessTrees* rest_;
  std::span<const std::uint64_t> tgids_, parents_;
  const Column *parent_, *names_, *cgroups_;
  std::unordered_map<std::uint64_t, std::size_t> row_of_;  // of a process's first thread, by tgid
  std::unordered_map<std::size_t, std::string> tree_of_;   // by that row, as they are found
};

}  // namespace ctprof
