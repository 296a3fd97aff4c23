// Converts the paths in /proc/<pid>/cgroup to directories below the mount.
//
// Both these paths and the root field of a mount are relative to the cgroup namespace of the
// reader: "/" is the namespace's root, and "/../x" is a sibling of it, outside the namespace. A
// mount may therefore show more than the namespace (root "/../..") or less ("/x"). If it shows
// more, the cgroups of the namespace are on a branch below the mount. No path names this branch, so
// find_branch() searches for it.
//
// See also: directory.hpp for opening cgroups.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "ctprof/batch.hpp"
#include "ctprof/host.hpp"

namespace ctprof::cgroupfs {

// A path as a number of levels up from the namespace's root, then names down.
struct RelativePath {
  std::size_t levels_up = 0;
  std::vector<std::string_view> names;
};

// Parses a path; the names are views into `path`. A ".." removes the name before it; empty names
// and "." are dropped.
RelativePath parse_path(std::string_view path);

// Returns the path of a cgroup below a mount: relative, without "..", and "." for the mount's root
// itself. `mount_root` is the root field of the mount; `branch` leads from there down to the
// namespace's root, and is empty if it is unknown. Returns Unsupported if the mount does not show
// the cgroup, or if the result depends on an unknown branch.
sdk::Reading<std::string> path_below_mount(std::string_view mount_root, std::string_view path,
                                           std::string_view branch);

// Returns the root field of the line of `mountinfo` whose mount id is `id`, with octal escapes
// decoded; empty if there is no such line.
std::string root_of_mount(std::string_view mountinfo, std::string_view id);

// Returns the root field of the mount that contains the host's cgroup directory; "/" in a recorded
// tree, and if it cannot be determined.
std::string mount_root(const sdk::Host& host);
// Returns the same for the mount that contains an open directory.
std::string mount_root(const sdk::Host& host, int directory);

// Returns the branch that leads from such a root down to the namespace's root, as names separated
// by slashes. It searches for the cgroup, that many levels down, that contains this process. Empty
// if the mount does not begin above the namespace, or if the search fails.
std::string find_branch(const sdk::Host& host, std::string_view mount_root);

}  // namespace ctprof::cgroupfs
