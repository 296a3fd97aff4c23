// The user of another process, and opening files with no more than that user's rights.
//
// A process chooses which paths, links and mounts its own files have. Capabilities of ctprof must
// not decide what is opened there, so the thread that opens gives them up first.
//
// Contents: reading the user of a process; giving up rights of one thread.
// See also: target_files.hpp, which opens the files.
//
// Threads: any.

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace ctprof {

// A process as the kernel checks its accesses to files, and when it started.
struct TargetOwner {
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;
  std::uint64_t started_unix_ns = 0;  // rounded down to a clock tick
};

// Reads the owner of a process. `process`: its open directory /proc/PID. Returns nothing if the
// process has exited or its files cannot be read. The start time assumes that nobody has set the
// host's clock since.
std::optional<TargetOwner> owner_of(int process);

// Gives up all capabilities of the calling thread, permanently, and takes the user and groups of
// `owner` where it is not null. Where the thread may not take them, it keeps those of its real user
// (root without capabilities, if that is root). Other threads keep their rights. Returns false if
// that fails: open nothing then.
bool give_up_rights(const TargetOwner* owner);

}  // namespace ctprof
