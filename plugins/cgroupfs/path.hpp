// Paths of cgroups: from what /proc/<pid>/cgroup says to a place below a mount.
//
// Both that path and the root field of a mount are told relative to the cgroup namespace of whoever
// reads them: "/" is the namespace's root, "/../x" a neighbour of it, outside. So a mount may show
// more than the namespace ("/../.." for its root) or less ("/x"), and where it shows more, the
// namespace's own cgroups lie on a branch below it, whose name no such path tells.
//
// What is here:   arithmetic on names.
// What is not:    looking for the branch, opening anything (directory.hpp).

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "ctprof/batch.hpp"

namespace ctprof::cgroupfs {

// A path as steps up from the namespace's root, then names down.
struct Place {
  std::size_t ups = 0;
  std::vector<std::string_view> names;
};

// Views into `path`. A ".." takes back a name before it; empty names and "." are dropped.
Place place_of(std::string_view path);

// Where the cgroup lies below a mount: a relative path without "..", "." for the mount's root
// itself. `mount_root` is the root field of the mount, `branch` the way from there down to the
// namespace's root, empty where it is not known. Unsupported when the mount does not show the
// cgroup, or the branch would have to be known.
sdk::Reading<std::string> below_mount(std::string_view mount_root, std::string_view path,
                                      std::string_view branch);

}  // namespace ctprof::cgroupfs
