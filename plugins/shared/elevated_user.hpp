// Determines the user that runs a ctprof whose executable has file capabilities (AT_SECURE).
// Recorders show this user no stacks of processes that the user may not inspect (own_user.bpf.h).

#pragma once

#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <optional>

namespace ctprof {

struct ElevatedUser {
  uid_t user;
  gid_t group;
  std::uint32_t user_namespace;  // its number in the kernel; 0: unknown, so nothing is shown
};

// Returns the number of the user namespace of this process; 0: unknown.
inline std::uint32_t read_user_namespace() {
  struct stat status {};
  return ::stat("/proc/self/ns/user", &status) == 0 ? static_cast<std::uint32_t>(status.st_ino) : 0;
}

// Returns no value if ctprof has only the rights of its user.
inline std::optional<ElevatedUser> find_elevated_user() {
  if (::getauxval(AT_SECURE) == 0) return std::nullopt;
  return ElevatedUser{::getuid(), ::getgid(), read_user_namespace()};
}

}  // namespace ctprof
