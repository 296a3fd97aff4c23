// The user of another process, and opening files with no more than that user's rights.
//
// A process chooses which paths, links and mounts its own files have. Capabilities of ctprof must
// not decide what is opened there, so the thread that opens does without them.
//
// Contents: reading the user of a process; taking its rights for a while.
// See also: target_files.hpp, which opens the files.
//
// Threads: any.

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/lowered_rights.hpp"

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

// The calling thread opens files as another user while an object exists: without effective
// capabilities, and with the user and groups of the owner for files. Where the thread may not take
// these, it keeps those of its real user (root without capabilities, if that is root).
//
//   const TargetRights rights(&owner);
//   if (rights) fd = ::open(path, O_RDONLY);
//
// Other threads keep their rights. The object is used and destroyed by the thread that made it.
class TargetRights {
 public:
  // `owner`: null for the real user.
  explicit TargetRights(const TargetOwner* owner);
  // Takes the former rights again.
  ~TargetRights();
  TargetRights(const TargetRights&) = delete;
  TargetRights& operator=(const TargetRights&) = delete;

  // False if the user or the capabilities could not be changed: open nothing then.
  explicit operator bool() const { return is_as_wanted_; }

 private:
  // What they were.
  uid_t user_;
  gid_t group_;
  std::vector<gid_t> groups_;
  std::optional<CapabilityWords> capabilities_;
  bool is_as_wanted_;
};

}  // namespace ctprof
