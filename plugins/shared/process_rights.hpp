// What this process may do, and whether it is in the host's own namespaces: for probing.

#pragma once

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <initializer_list>

#include "ctprof/host.hpp"

namespace ctprof {

// Whether all these capabilities are effective; `unknown` when that cannot be found out.
inline bool has_capabilities(std::initializer_list<unsigned> capabilities, bool unknown = false) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return unknown;
  for (const unsigned capability : capabilities)
    if ((sets[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability)) == 0) return false;
  return true;
}

// The namespaces that the kernel started with, by their inode numbers, which never change
// (include/linux/proc_ns.h of the kernel).
enum class FirstNamespace : std::uint64_t { Time = 0xEFFFFFFA, Pid = 0xEFFFFFFC };

// Whether this process is in it. True too where the kernel has no such namespaces.
inline bool is_in(const sdk::Host& host, FirstNamespace first) {
  struct stat status;
  const char* path = first == FirstNamespace::Pid ? "self/ns/pid" : "self/ns/time";
  return ::fstatat(host.proc(), path, &status, 0) != 0 ||
         status.st_ino == static_cast<std::uint64_t>(first);
}

}  // namespace ctprof
