// The roots of a capture: the open directories of /proc, /sys and the cgroup hierarchy, what they
// permit, and the lists of processes, threads and cgroups.
//
// With --rootfs, these are searched below a directory: in a container that has mounted the host's
// tree, or in a recorded tree. Tests determine whether the tree belongs to the running kernel, and
// whether its thread ids are valid in our system calls.
//
// A Walker reads only names, not the files of a thread. It reads large blocks of directory entries
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

// Reads directories into its own buffer. Threads: one per walker.
class Walker {
 public:
  // Returns the process ids under the open directory `proc`, ascending. Fails if it cannot be read.
  Result<std::vector<std::uint64_t>> processes(int proc);
  // Appends the threads of a process, ascending. Returns 0, or the errno of a failed open, as for a
  // process that has exited.
  int threads(int proc, std::uint64_t tgid, std::vector<ThreadId>& out);

 private:
  bool read_numbers(int directory, std::vector<std::uint64_t>& out);

  std::vector<char> buffer_ = std::vector<char>(64 * 1024);
};

// Returns an existing thread for tests of files: of the first process with user memory if there is
// one, else of any process; {0, 0} if there is none.
ThreadId find_first_thread(int proc);

struct Roots {
  std::string proc;
  std::string sys;
  std::string cgroup;       // mount point of cgroup v2; empty if not mounted
  std::string cgroup_root;  // root of that mount in the hierarchy: "/" or a namespace's part
  sdk::Fd proc_fd;
  sdk::Fd sys_fd;
  sdk::Fd cgroup_fd;
  bool is_live = false;
  bool has_own_tids = false;

  // Returns the open /proc for watched_workers.hpp; -1 if none of its files can block a reader.
  int watched_proc_fd() const { return is_live ? proc_fd.get() : -1; }

  // Returns the view of the host for plugins. It points into this object, which must outlive it.
  // The sample thread is our own if its id is valid there, else find_first_thread().
  ctprof_host host() const;
};

// The cgroups of a hierarchy, with or without threads.
struct CgroupList {
  struct Entry {
    std::string path;  // as in /proc/PID/cgroup
    std::uint64_t id = 0;
  };
  std::vector<Entry> entries;
  bool is_complete = false;  // whether the list is complete
};

// Limits of the number of cgroups and of the listing time, because unprivileged users may create
// many cgroups and nest them deeply.
inline constexpr std::size_t kMaxCgroups = 10'000;
inline constexpr std::uint64_t kMaxCgroupListNs = 500'000'000;

// Lists the cgroups that the mount shows, level by level, so that deeply nested cgroups of a user
// do not displace those of the system. Returns an empty list if paths in the mount differ from
// those in /proc/PID/cgroup: in a recorded tree, and if the mount begins above our namespace.
CgroupList list_cgroups(const Roots& roots, std::size_t max_cgroups = kMaxCgroups,
                        std::uint64_t max_ns = kMaxCgroupListNs);

// Returns the id of a cgroup by its path in /proc/PID/cgroup; 0 if the mount does not show that
// part of the hierarchy, or in a recorded tree. Fails if the mount shows the whole hierarchy, and
// the cgroup does not exist there. Looks it up once, with the rights of the user: without links,
// without "..", and without ctprof's file capabilities, so that the result reveals nothing about
// other directories.
Result<std::uint64_t> find_cgroup(const Roots& roots, const std::string& path);

// Fails if `rootfs` has no readable proc directory. Also fails for a non-empty `rootfs` if the
// executable file has capabilities: links in a tree that the user made could then lead to files
// that only these capabilities can read.
Result<Roots> open_roots(const std::string& rootfs);

}  // namespace ctprof
