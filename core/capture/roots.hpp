// The roots of a capture: where /proc, /sys and the cgroup hierarchy are, and what may be done
// there.
//
// Under --rootfs the same three lie under a directory: a container that has the host's tree
// mounted, or a recorded tree. Whether the tree is the running kernel's, and whether its thread ids
// are those that our own system calls understand, is looked at, not assumed.

#pragma once

#include <memory>
#include <string>

#include "core/base/result.hpp"
#include "ctprof/abi.h"
#include "ctprof/files.hpp"

namespace ctprof {

struct Roots {
  std::string proc;
  std::string sys;
  std::string cgroup;       // where cgroup v2 is mounted; empty where it is not
  std::string cgroup_root;  // what that mount shows of the hierarchy, "/" or a namespace's part
  sdk::Fd proc_fd;
  sdk::Fd sys_fd;
  sdk::Fd cgroup_fd;
  bool live = false;
  bool own_tids = false;

  // The plugins' view; lives no longer than this object. The sample thread is ours on a live host,
  // else the first that is found.
  ctprof_host host() const;
};

// Fails where there is no readable proc directory under `rootfs`. Under privileges from our file
// there is no `rootfs` at all: links in a tree that its user made would lead to what only the
// privileges can read.
Result<Roots> open_roots(const std::string& rootfs);

}  // namespace ctprof
