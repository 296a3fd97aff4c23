// Process trees: a process and its descendants, as long as they are in the same cgroup.
//
//   systemd(1) ─ sshd(7) ─ bash(20) ─ make(30) ─ cc1plus(31)     all in bash[20], if sshd is in
//                                                                another cgroup than bash
//
// The root of a tree is the first ancestor that was started by the kernel or by process 1, whose
// parent is in another cgroup, or whose parent has no row. Kernel threads form one tree, rooted at
// kthreadd. A process whose parent exited belongs to the process that adopted it.
//
// The rows that only the opening of a window has do not include living processes, so the search for
// their parents continues in the window.

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
  // `fallback` contains the processes without a row in the snapshot; null if there are none.
  // REQUIRES: both outlive this object.
  explicit ProcessTrees(const Snapshot& snapshot, const ProcessTrees* fallback = nullptr);

  // Returns a name such as "bash[20]" for a thread row; empty for a thread without a process id.
  // The result is valid for the lifetime of this object.
  std::string_view tree_name_of_thread(std::size_t row);

 private:
  // A thread row of this object or of `fallback`.
  struct ThreadRow {
    const ProcessTrees* trees;
    std::size_t row;
  };
  static bool share_cgroup(const ThreadRow& a, const ThreadRow& b);
  std::string_view text(const Column* column, std::size_t row) const;  // empty without a value
  std::optional<ThreadRow> find(std::uint64_t tgid) const;
  std::optional<ThreadRow> parent_of(std::size_t row) const;
  std::string find_tree_name(std::size_t row) const;

  const Snapshot* snapshot_;
  const ProcessTrees* fallback_;
  std::span<const std::uint64_t> tgids_, parents_;
  const Column *parent_, *names_, *cgroups_;
  // The row of a process's leader, or of its first thread, by tgid.
  std::unordered_map<std::uint64_t, std::size_t> row_of_;
  std::unordered_map<std::size_t, std::string> tree_name_of_;  // cache, by that row
};

}  // namespace ctprof
