// Switches of a running kernel, under /proc/sys: for probing.

#pragma once

#include "ctprof/batch.hpp"
#include "ctprof/files.hpp"
#include "ctprof/host.hpp"

namespace ctprof {

// Of kernel.task_delayacct, which is absent before Linux 5.14: delays are accounted then.
inline constexpr const char* kDelayAccounting = "sys/kernel/task_delayacct";
inline constexpr const char* kScheduleStatistics = "sys/kernel/sched_schedstats";

// The gap that reading it gave, where there is none.
inline sdk::Reading<bool> is_switched_on(const sdk::Host& host, const char* path) {
  sdk::TextFile file;
  const auto text = file.read(host.proc(), path);
  return text ? sdk::Reading<bool>(sdk::trimmed(text.value) != "0") : sdk::Reading<bool>(text.gap);
}

}  // namespace ctprof
