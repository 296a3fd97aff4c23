// Paths of cgroups: from what /proc/<pid>/cgroup says to a directory below the mount.
//
// Both that path and the root field of a mount are relative to the cgroup namespace of the reader:
// "/" is the namespace's root, "/../x" a neighbour of it, outside. So a mount may show more than
// the namespace ("/../.." for its root) or less ("/x"). Where it shows more, the namespace's own
// cgroups are on a branch below it, and no such path tells the branch's name: it has to be searched
// for.
//
// What is here:   arithmetic on paths, what the mount shows, the search for our own branch.
// What is not:    opening cgroups (directory.hpp).

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
  std::size_t ups = 0;
  std::vector<std::string_view> names;
};

// Views into `path`. A ".." takes back a name before it; empty names and "." are dropped.
RelativePath parse_path(std::string_view path);

// The path of a cgroup below a mount: relative, without "..", and "." for the mount's root itself.
// `mount_root` is the root field of the mount; `branch` leads from there down to the namespace's
// root, and is empty where it is not known. Unsupported when the mount does not show the cgroup, or
// when it takes the branch to find it.
sdk::Reading<std::string> below_mount(std::string_view mount_root, std::string_view path,
                                      std::string_view branch);

// The root field of the line of `mountinfo` whose mount id is `id`, octal escapes undone; empty
// when there is none.
std::string root_of_mount(std::string_view mountinfo, std::string_view id);

// The same for the mount that holds the host's cgroup directory; "/" in a recorded tree, and where
// it cannot be found out.
std::string mount_root(const sdk::Host& host);

// The branch that leads from such a root down to the namespace's root, as names with slashes
// between: the search looks for the cgroup, that many levels down, that holds this process. Empty
// where the mount does not begin above the namespace, or nothing is found.
std::string find_branch(const sdk::Host& host, std::string_view mount_root);

}  // namespace ctprof::cgroupfs
