// The identity columns: which thread, process or cgroup a row is. The one vocabulary that the core
// has by itself.
//
// What is here:   their names and definitions, and the names of the lister's hidden columns.
// What is not:    filling them (capture/lister.hpp).

#pragma once

#include <string_view>
#include <vector>

#include "core/registry/metric_def.hpp"

namespace ctprof {

inline constexpr std::string_view kTid = "tid";
inline constexpr std::string_view kTgid = "tgid";
inline constexpr std::string_view kPcomm = "pcomm";
inline constexpr std::string_view kComm = "comm";
inline constexpr std::string_view kCgroup = "cgroup";
inline constexpr std::string_view kStartTime = "start_time_clock_ticks";
inline constexpr std::string_view kThreadCount = "thread_count";  // 1 a row, never a column
inline constexpr std::string_view kProcessTgid = "process.tgid";
inline constexpr std::string_view kProcessPcomm = "process.pcomm";
inline constexpr std::string_view kCgroupPath = "cgroup.path";

// Hidden columns of the core's own lister, alive for one batch: the thread's open directory, and
// its stat file as it was read.
inline constexpr std::string_view kTaskDir = "task_dir";
inline constexpr std::string_view kStat = "stat";

// All of them but the hidden ones, thread_count included.
const std::vector<MetricDef>& identity_metrics();
// REQUIRES: one of the above.
const MetricDef& identity_metric(std::string_view name);

}  // namespace ctprof
