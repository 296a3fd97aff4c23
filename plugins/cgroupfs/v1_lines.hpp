// Parses the lines of /proc/PID/cgroup that describe hierarchies of cgroup v1, such as
// "4:cpu,cpuacct:/path". The line of the v2 hierarchy, "0::/path", names no controller.
//
// See also: path.hpp for paths in the v2 hierarchy.

#pragma once

#include <optional>
#include <string_view>

namespace ctprof::cgroupfs {

struct V1Line {
  std::string_view controllers;  // separated by commas: the name of the usual mount point
  std::string_view path;         // relative to the root of the cgroup namespace
};

// Returns the line of the v1 hierarchy that has the controller, with views into `text`; none if the
// controller is not in a v1 hierarchy.
std::optional<V1Line> find_v1_line(std::string_view text, std::string_view controller);

}  // namespace ctprof::cgroupfs
