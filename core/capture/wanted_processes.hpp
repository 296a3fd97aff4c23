// Which processes are wanted: by their ids, and by the cgroup that each was in when it was first
// asked about.
//
// A process that ended before anybody could ask is wanted if the one that it descends from is.
//
// Threads: one at a time.

#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/seeded_hash.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

class WantedProcesses {
 public:
  // `pids`, `cgroup`: empty: all. `proc`: the open directory /proc, which must outlive it.
  WantedProcesses(std::vector<std::uint64_t> pids, std::string cgroup, int proc);

  bool has(std::uint64_t tgid);
  void forked(std::uint64_t tgid, std::uint64_t parent);
  // The id may be another process's from now on.
  void ended(std::uint64_t tgid) { known_.erase(tgid); }
  const std::vector<std::uint64_t>& pids() const { return pids_; }

 private:
  struct Known {
    bool is_wanted = false;
    bool was_read = false;
  };
  bool read(Known& known, std::uint64_t tgid);

  std::vector<std::uint64_t> pids_;  // sorted
  std::string cgroup_;
  int proc_;
  sdk::TextFile file_;
  std::unordered_map<std::uint64_t, Known, SeededHash> known_;  // where a cgroup is wanted
};

}  // namespace ctprof
