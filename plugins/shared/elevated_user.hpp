// Determines the user that runs a ctprof whose executable has file capabilities (AT_SECURE).
// Recorders show this user no stacks of processes that the user may not inspect (own_user.bpf.h).

#pragma once

#include <sys/auxv.h>
#include <sys/types.h>
#include <unistd.h>

#include <optional>

namespace ctprof {

struct ElevatedUser {
  uid_t user;
  gid_t group;
};

// Returns no value if ctprof has only the rights of its user.
inline std::optional<ElevatedUser> find_elevated_user() {
  if (::getauxval(AT_SECURE) == 0) return std::nullopt;
  return ElevatedUser{::getuid(), ::getgid()};
}

}  // namespace ctprof
