// Which processes are wanted: by their ids, with those that they fork if that is requested; and by
// the cgroup that each was in when it was first asked about.
//
// A process that ended before anybody could ask is wanted if the one that it descends from is.
//
// Threads: one at a time.

#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/base/seeded_hash.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

class WantedProcesses {
 public:
  // `pids`, `cgroup`: empty: all. `proc`: the open directory /proc, which must outlive it.
  // `inherits`: whether processes that `pids` fork from now on are wanted, too, and their children.
  WantedProcesses(std::vector<std::uint64_t> pids, std::string cgroup, int proc,
                  bool inherits = false);

  bool has(std::uint64_t tgid);
  // A new process; its id may have been another's.
  void forked(std::uint64_t tgid, std::uint64_t parent);
  // The id may be another process's from now on. Records of one that was followed may still come,
  // so that it stays wanted until a process of another parent has its id.
  void ended(std::uint64_t tgid) { known_.erase(tgid); }
  const std::vector<std::uint64_t>& pids() const { return pids_; }
  // The children that are wanted, and theirs.
  std::vector<std::uint64_t> followed() const { return {followed_.begin(), followed_.end()}; }

 private:
  struct Known {
    bool is_wanted = false;
    bool was_read = false;
  };
  bool is_of_pids(std::uint64_t tgid) const;
  bool read(Known& known, std::uint64_t tgid);

  std::vector<std::uint64_t> pids_;  // sorted
  std::string cgroup_;
  int proc_;
  bool inherits_;
  std::unordered_set<std::uint64_t, SeededHash> followed_;
  sdk::TextFile file_;
  std::unordered_map<std::uint64_t, Known, SeededHash> known_;  // where a cgroup is wanted
};

}  // namespace ctprof
