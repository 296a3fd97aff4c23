// Determines which processes are requested: by pid, optionally with the processes that they fork,
// and by the cgroup of a process at its first lookup.
//
// A process that exited before its cgroup was read is requested if its parent is.
//
// Threads: used by one thread at a time.

#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/base/seeded_hash.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

class RequestedProcesses {
 public:
  // `pids`, `cgroup`: empty: all. `proc`: the open directory /proc, which must outlive this object.
  // `inherits`: also include processes that `pids` fork from now on, and their descendants.
  RequestedProcesses(std::vector<std::uint64_t> pids, std::string cgroup, int proc,
                     bool inherits = false);

  bool contains(std::uint64_t tgid);
  // Adds a new process; another process may have had its id.
  void add_forked(std::uint64_t tgid, std::uint64_t parent);
  // Removes the cgroup of an exited process, because its id may be reused. A followed process stays
  // requested until a process of another parent gets its id, because its records may be delayed.
  void forget_exited(std::uint64_t tgid) { states_.erase(tgid); }
  const std::vector<std::uint64_t>& pids() const { return pids_; }
  // Returns the followed descendants.
  std::vector<std::uint64_t> followed_processes() const {
    return {followed_.begin(), followed_.end()};
  }

 private:
  struct CgroupState {
    bool is_requested = false;
    bool was_read = false;
  };
  bool is_selected_by_pid(std::uint64_t tgid) const;
  bool read_cgroup(CgroupState& state, std::uint64_t tgid);

  std::vector<std::uint64_t> pids_;  // sorted
  std::string cgroup_;
  int proc_;
  bool inherits_;
  std::unordered_set<std::uint64_t, SeededHash> followed_;
  sdk::TextFile file_;
  // Used only if a cgroup is selected.
  std::unordered_map<std::uint64_t, CgroupState, SeededHash> states_;
};

}  // namespace ctprof
