// The hierarchy of cgroup v1 that has the cpu controller, and its cgroups.
//
// The file `cgroup` of a thread names the controllers of each v1 hierarchy. The hierarchy is
// mounted in the directory of these names below /sys/fs/cgroup, such as /sys/fs/cgroup/cpu,cpuacct.
// Nothing outside of this directory is opened: no "..", no symbolic link.
//
// See also: plugins/cgroupfs for the v2 hierarchy.

#pragma once

#include <functional>
#include <string>

#include "ctprof/files.hpp"
#include "ctprof/host.hpp"

namespace ctprof::cgroup_v1 {

inline constexpr const char* kController = "cpu";
// The number of cgroups that are visited at most, because users may create many.
inline constexpr std::size_t kMaxCgroups = 10'000;

class CpuHierarchy {
 public:
  explicit CpuHierarchy(const sdk::Host& host);

  // Returns whether a v1 hierarchy has the controller, and whether it is mounted.
  bool exists() const { return !controllers_.empty(); }
  bool is_mounted() const { return static_cast<bool>(directory_); }
  // Returns the path of the usual mount point below /sys. REQUIRES: exists().
  std::string mount_point() const;
  // Returns the directory of the topmost cgroup that the mount shows. REQUIRES: is_mounted().
  int directory() const { return directory_.get(); }
  // Returns whether for_each_cgroup() and /proc/PID/cgroup have the same paths; not if the mount
  // begins above the cgroup namespace.
  bool has_paths_of_processes() const;

  // Calls `visit` for each cgroup with its path and its open directory, level by level. If a
  // directory cannot be opened, it is -1, and `gap` is the reason. Cgroups that are removed
  // meanwhile are omitted. Throws std::runtime_error if there are more than kMaxCgroups.
  using Visit = std::function<void(const std::string& path, int directory, Gap gap)>;
  void for_each_cgroup(const Visit& visit) const;

 private:
  std::string controllers_;
  sdk::Fd directory_;
  std::string mount_root_;
};

}  // namespace ctprof::cgroup_v1
