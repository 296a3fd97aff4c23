// Reads the user of another process, and opens files with no more than that user's rights.
//
// A process controls the paths, links and mounts of its files. The capabilities of ctprof must not
// decide what is opened there, so the opening thread drops them.
//
// See also: target_files.hpp opens the files.
//
// Threads: any.

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/dropped_capabilities.hpp"

namespace ctprof {

// The credentials that the kernel uses for file accesses of a process, and its start time.
struct TargetOwner {
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;
  std::uint64_t start_unix_ns = 0;  // rounded down to a clock tick
};

// Reads the owner of a process. `process`: its open directory /proc/PID. Returns nullopt if the
// process has exited or its files cannot be read. The start time is correct only if the host's
// clock has not been set since.
std::optional<TargetOwner> read_owner(int process);

// While an object exists, the calling thread opens files without effective capabilities, as the
// file system user and groups of the owner. If the thread may not change to these, it uses its real
// user (root without capabilities, if that is root).
//
//   const TargetRights rights(&owner);
//   if (rights) fd = ::open(path, O_RDONLY);
//
// Other threads keep their rights. The creating thread must use and destroy the object.
class TargetRights {
 public:
  // `owner`: null for the real user.
  explicit TargetRights(const TargetOwner* owner);
  // Restores the previous rights.
  ~TargetRights();
  TargetRights(const TargetRights&) = delete;
  TargetRights& operator=(const TargetRights&) = delete;

  // Returns false if the user or the capabilities could not be changed; then open nothing.
  explicit operator bool() const { return is_applied_; }

 private:
  // The previous values.
  uid_t user_;
  gid_t group_;
  std::vector<gid_t> groups_;
  std::optional<CapabilityWords> capabilities_;
  bool is_applied_;
};

}  // namespace ctprof
