// What the mount of the cgroup v2 hierarchy shows of it, as this process's cgroup namespace tells
// it.

#pragma once

#include <string>
#include <string_view>

#include "ctprof/host.hpp"

namespace ctprof::cgroupfs {

// The root field of the line of `mountinfo` whose mount id is `id`, octal escapes undone; empty
// when there is none.
std::string root_of_mount(std::string_view mountinfo, std::string_view id);

// Of the mount that the host's cgroup directory lies on; "/" in a recorded tree, and where nothing
// better can be learnt.
std::string mount_root(const sdk::Host& host);

// The way from such a root down to the namespace's root, as names with slashes between: found by
// looking which cgroup that many levels down holds this process. Empty where the mount does not
// begin above the namespace, or it cannot be found.
std::string find_branch(const sdk::Host& host, std::string_view mount_root);

}  // namespace ctprof::cgroupfs
