// What plugins probe cgroups with: a cgroup to try files on, and what would give the host the v2
// hierarchy.

#pragma once

#include <string_view>

#include "ctprof/files.hpp"
#include "ctprof/host.hpp"

namespace ctprof::cgroupfs {

// A cgroup with some controller, for the root of the hierarchy lacks files that the kernel has.
//
// A controller that no child of the root has, no cgroup further down has either. So only the
// children are looked at, and, where the mount begins below the root of the hierarchy, the mount's
// own first directory.
class Sample {
 public:
  // Some cgroup that has the controller; false where no cgroup has it.
  Sample(const sdk::Host& host, std::string_view controller);

  explicit operator bool() const { return static_cast<bool>(dir_); }
  int dir() const { return dir_.get(); }
  // Whether the file is missing there; a file that may not be read is not missing.
  bool lacks(const char* file) const;

 private:
  sdk::Fd dir_;
};

// The boot parameters that would give the host the cgroup v2 hierarchy, or move the controllers
// that are mounted as v1 into it; none where that is not known.
sdk::Remedy unified_boot(const sdk::Host& host);

}  // namespace ctprof::cgroupfs
