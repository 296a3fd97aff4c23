// Determines which processes the user of ctprof may inspect without the file capabilities of the
// executable. Tests this with an operation for which the kernel checks ptrace(2) access.
//
// Threads: used by one thread at a time.

#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/base/seeded_hash.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

class OwnProcesses {
 public:
  enum class Access : std::uint8_t { Own, Foreign, Exited };

  // `proc`: the open directory /proc; it may be closed afterwards. `has_extra_rights`: whether
  // ctprof has rights that its user lacks; otherwise all processes are Own.
  OwnProcesses(int proc, bool has_extra_rights);

  // Returns whether the user may inspect the process. The first result is cached: if the process
  // runs another program later, only a new object sees the change.
  Access find_access(std::uint64_t tgid);

  // Returns the processes for which find_access() returned Own, and clears its cache.
  std::vector<std::uint64_t> take_own();
  // Sets the processes that were Own while they lived. From now on, they are Own after their exit.
  // REQUIRES: find_access() has not been called.
  void set_exited_own(std::span<const std::uint64_t> tgids);

 private:
  Access read_access(std::uint64_t tgid) const;

  bool has_extra_rights_;
  sdk::Fd proc_;
  std::unordered_map<std::uint64_t, Access, SeededHash> access_by_tgid_;
  std::unordered_set<std::uint64_t, SeededHash> exited_own_;
};

}  // namespace ctprof
