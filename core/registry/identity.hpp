// The identity columns: which thread, process or cgroup a row is. They are the only metrics that
// the core itself defines; capture/identity_reader.hpp fills them.

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
inline constexpr std::string_view kParent = "parent";
inline constexpr std::string_view kKernelThread = "kernel_thread";
inline constexpr std::string_view kDescendant = "descendant";     // of a window with a command
inline constexpr std::string_view kThreads = "threads";           // where rows were merged
inline constexpr std::string_view kThreadCount = "thread_count";  // 1 a row, never a column
inline constexpr std::string_view kProcessTgid = "process.tgid";
inline constexpr std::string_view kProcessPcomm = "process.pcomm";
inline constexpr std::string_view kCgroupPath = "cgroup.path";
inline constexpr std::string_view kCgroupId = "cgroup.id";

// Hidden columns of the core's own lister, valid for one batch: the descriptor of the thread's
// directory, and the text of its stat file.
inline constexpr std::string_view kTaskDir = "task_dir";
inline constexpr std::string_view kStat = "stat";
// Hidden columns by which a source says when it read a thread, and when that was born.
inline constexpr std::string_view kReadAt = "read_at_ns";
inline constexpr std::string_view kBornAt = "born_at_ns";
// Hidden columns of threads that ended: when, how far off their start may be, what their byte
// counters are rounded down to a multiple of, and whether the row is an exec rather than an end.
inline constexpr std::string_view kEndedAt = "ended_at_ns";
inline constexpr std::string_view kStartWithin = "start_within_ticks";
inline constexpr std::string_view kBytesRounded = "bytes_rounded";
inline constexpr std::string_view kTookOver = "took_over";
// Hidden: whether the row is no end, but a process that was born of the window's command.
inline constexpr std::string_view kWasBorn = "was_born";

// The definitions of all of these but the hidden ones, thread_count included.
const std::vector<MetricDef>& identity_metrics();
// REQUIRES: `name` is one of the constants above, and not hidden.
const MetricDef& identity_metric(std::string_view name);

}  // namespace ctprof
