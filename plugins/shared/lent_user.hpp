// The user that has been lent the capabilities of ctprof's executable (AT_SECURE). Recorders show
// that user no stacks of processes that the user may not look into (own_user.bpf.h).

#pragma once

#include <sys/auxv.h>
#include <sys/types.h>
#include <unistd.h>

#include <optional>

namespace ctprof {

struct LentUser {
  uid_t user;
  gid_t group;
};

// Nothing where ctprof has the rights of its user.
inline std::optional<LentUser> lent_user() {
  if (::getauxval(AT_SECURE) == 0) return std::nullopt;
  return LentUser{::getuid(), ::getgid()};
}

}  // namespace ctprof
