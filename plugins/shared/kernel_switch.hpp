// Switches of a running kernel, under /proc/sys: for probing.

#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "ctprof/files.hpp"
#include "ctprof/host.hpp"

namespace ctprof {

// Of kernel.task_delayacct, which is absent before Linux 5.14: delays are accounted then.
inline constexpr const char* kDelayAccounting = "sys/kernel/task_delayacct";
inline constexpr const char* kScheduleStatistics = "sys/kernel/sched_schedstats";

enum class Switch {
  Off,
  On,
  Absent,   // the kernel has no switch of that name
  Unknown,  // it cannot be read, as where /proc is mounted without /proc/sys (subset=pid)
};

inline Switch state_of(const sdk::Host& host, const char* path) {
  sdk::TextFile file;
  if (const auto text = file.read(host.proc(), path))
    return sdk::trimmed(text.value) == "0" ? Switch::Off : Switch::On;
  const bool has_others =
      file.last_errno() == ENOENT && ::faccessat(host.proc(), "sys/kernel", F_OK, 0) == 0;
  return has_others ? Switch::Absent : Switch::Unknown;
}

// Why a figure that depends on an unknown switch is none.
inline std::string unknown_switch(std::string_view name) {
  return "whether " + std::string(name) +
         " is on cannot be told: /proc/sys cannot be read here, as where /proc is mounted with "
         "subset=pid";
}

}  // namespace ctprof
