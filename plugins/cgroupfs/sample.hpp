// A cgroup to try things on, for what the root of the hierarchy lacks is not yet what the kernel
// lacks.
//
// A controller that no child of the root has, no cgroup below has either; so the children are all
// that is looked at, and where the mount begins below the root of the hierarchy, its own first
// directory too.

#pragma once

#include <string_view>

#include "ctprof/files.hpp"
#include "ctprof/host.hpp"

namespace ctprof::cgroupfs {

class Sample {
 public:
  // Some cgroup that has the controller; none where there is none.
  Sample(const sdk::Host& host, std::string_view controller);

  // Whether there is one.
  explicit operator bool() const { return static_cast<bool>(dir_); }
  int dir() const { return dir_.get(); }
  // Whether the file is missing there; one that may not be read is not.
  bool lacks(const char* file) const;

 private:
  sdk::Fd dir_;
};

}  // namespace ctprof::cgroupfs
