// Helpers for the probes of plugins that read cgroups: a sample cgroup, and the remedy for a
// missing v2 hierarchy.

#pragma once

#include <string_view>

#include "ctprof/files.hpp"
#include "ctprof/host.hpp"

namespace ctprof::cgroupfs {

// A cgroup that has a given controller. The root of the hierarchy cannot be the sample, because it
// lacks files that other cgroups have.
//
// If no child of the root has a controller, no cgroup below has it. Therefore only the children are
// searched. If the mount begins below the root of the hierarchy, the sample is the mount's own top
// directory.
class Sample {
 public:
  // Opens a cgroup that has the controller; the object is false if no cgroup has it.
  Sample(const sdk::Host& host, std::string_view controller);

  explicit operator bool() const { return static_cast<bool>(dir_); }
  int dir() const { return dir_.get(); }
  // Returns whether the file is missing there. A file without read permission is not missing.
  bool lacks(const char* file) const;

 private:
  sdk::Fd dir_;
};

// Returns the boot parameters that would give the host the cgroup v2 hierarchy, or move controllers
// that are mounted as v1 into it; none if they are unknown.
sdk::Remedy remedy_for_unified_hierarchy(const sdk::Host& host);

}  // namespace ctprof::cgroupfs
