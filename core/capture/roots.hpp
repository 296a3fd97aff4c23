// The roots of a capture: where /proc, /sys and the cgroup hierarchy are, what may be done there,
// which processes and threads /proc lists, and which cgroups there are.
//
// With --rootfs they are looked for under a directory: in a container that has the host's tree
// mounted, or in a recorded tree. Whether the tree is that of the running kernel, and whether its
// thread ids are the ones that our system calls understand, is checked rather than assumed.
//
// A Walker reads only names, nothing of a thread itself. It reads directory entries in large pieces
// (getdents64), because with ten thousand threads the walk is a measurable part of a capture.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "ctprof/abi.h"
#include "ctprof/files.hpp"

namespace ctprof {

struct ThreadId {
  std::uint64_t tgid = 0;
  std::uint64_t tid = 0;
};

// Reads directories into a buffer of its own. Threads: one per walker.
class Walker {
 public:
  // The process ids under the open directory `proc`, ascending. Fails if it cannot be read.
  Result<std::vector<std::uint64_t>> processes(int proc);
  // Appends the threads of a process, ascending. Returns 0, or the errno of a failed open, as for a
  // process that has exited.
  int threads(int proc, std::uint64_t tgid, std::vector<ThreadId>& out);

 private:
  bool numbers(int directory, std::vector<std::uint64_t>& out);

  std::vector<char> buffer_ = std::vector<char>(64 * 1024);
};

// Some thread that exists, to try things on: of the first process with memory of its own if there
// is one, else of any; {0, 0} if there is none.
ThreadId first_thread(int proc);

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

  // For Watch: the open /proc, or -1 where nothing in it can hold up a reader.
  int proc_that_may_hang() const { return live ? proc_fd.get() : -1; }

  // The view of the host that plugins get. Points into this object, which must outlive it. The
  // sample thread is our own if its id is valid there, else the first one found.
  ctprof_host host() const;
};

// The cgroups of a hierarchy, with or without threads.
struct CgroupList {
  struct Entry {
    std::string path;  // as /proc/PID/cgroup has it
    std::uint64_t id = 0;
  };
  std::vector<Entry> entries;
  bool complete = false;  // these are all
};

// The most cgroups that are listed, and the time that listing them takes at most: whoever may make
// cgroups may make very many, and nest them deeply.
inline constexpr std::size_t kMostCgroups = 10'000;
inline constexpr std::uint64_t kCgroupListNs = 500'000'000;

// Lists what the mount shows, parents before children and shallow ones before deep ones, so that a
// user's many hide none of the system's few. Empty where the names in the mount are not those in
// /proc/PID/cgroup: in a recorded tree, and where the mount begins above our namespace.
CgroupList list_cgroups(const Roots& roots, std::size_t most = kMostCgroups,
                        std::uint64_t most_ns = kCgroupListNs);

// The id of a cgroup by its path as /proc/PID/cgroup has it; 0 where the mount does not show it.
std::uint64_t cgroup_id(const Roots& roots, const std::string& path);

// Fails if there is no readable proc directory under `rootfs`; and for any `rootfs` if the
// executable gave us privileges: links in a tree that the user made could lead to what only the
// privileges can read.
Result<Roots> open_roots(const std::string& rootfs);

}  // namespace ctprof
