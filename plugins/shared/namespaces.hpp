// Whether this process is in the namespaces that the kernel started with, the host's: for probing.
//
// What is here:   their numbers, from the kernel's include/linux/proc_ns.h.

#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdint>

#include "ctprof/host.hpp"

namespace ctprof {

enum class FirstNamespace : std::uint64_t { Time = 0xEFFFFFFA, Pid = 0xEFFFFFFC };

// True too where the kernel has none of its kind.
inline bool is_in(const sdk::Host& host, FirstNamespace first) {
  struct stat status;
  const char* path = first == FirstNamespace::Pid ? "self/ns/pid" : "self/ns/time";
  return ::fstatat(host.proc(), path, &status, 0) != 0 ||
         status.st_ino == static_cast<std::uint64_t>(first);
}

}  // namespace ctprof
