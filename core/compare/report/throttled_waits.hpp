// Finds how long threads waited for a CPU in cgroups that a CPU quota throttled.
//
// A thread of a throttled cgroup stays runnable, so the kernel counts the time as a wait for a CPU,
// as if other threads occupied it. A quota also applies to the cgroups below.
//
// See also: group_signs.hpp (the sums of each group), window/host_load.hpp (throttled cgroups).

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/snapshot/snapshot.hpp"
#include "core/window/host_load.hpp"

namespace ctprof {

// The waits of a group's threads in one throttled cgroup.
struct ThrottledWait {
  std::string cgroup;
  double wait_ns = 0;
};

// Adds `other` to the waits of the same cgroup.
void add_throttled_wait(std::vector<ThrottledWait>& waits, const ThrottledWait& other);

class ThrottledWaits {
 public:
  // REQUIRES: a window of differences, which outlives the object.
  explicit ThrottledWaits(const Snapshot& window);

  // Adds the wait of a thread to those of its throttled cgroup and of throttled cgroups above.
  void add(std::size_t row, double wait_ns, std::vector<ThrottledWait>& waits) const;

 private:
  std::string_view find_cgroup(std::size_t row) const;

  const Snapshot* window_;
  HostLoad load_;
  const Column *tgids_, *cgroups_;
  // The v1 cgroup of each process, if the throttled cgroups are in a v1 hierarchy.
  std::map<std::uint64_t, std::string_view> cgroup_of_process_;
};

}  // namespace ctprof
