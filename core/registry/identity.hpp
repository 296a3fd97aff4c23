// The identity columns, which state which thread, process or cgroup a row describes. They are the
// only metrics that the core itself defines; capture/identity_reader.hpp fills them.

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
inline constexpr std::string_view kDescendant = "descendant";  // only in windows with a command
inline constexpr std::string_view kThreads = "threads";        // only in windows with merged rows
inline constexpr std::string_view kThreadCount = "thread_count";  // 1 per row, never a column
inline constexpr std::string_view kProcessTgid = "process.tgid";
inline constexpr std::string_view kProcessPcomm = "process.pcomm";
inline constexpr std::string_view kCgroupPath = "cgroup.path";
inline constexpr std::string_view kCgroupId = "cgroup.id";

// Hidden columns of the core's own lister, valid for one batch: the descriptor of the thread's
// directory, and the text of its stat file.
inline constexpr std::string_view kTaskDir = "task_dir";
inline constexpr std::string_view kStatText = "stat";
// Hidden columns that contain the time at which a source read a thread, and the start time of the
// thread.
inline constexpr std::string_view kReadAt = "read_at_ns";
inline constexpr std::string_view kStartedAt = "born_at_ns";
// Hidden columns of exited threads: the time of the exit, the possible error of the start time, the
// unit to which byte counters are rounded down, and whether the row is an exec instead of an exit.
inline constexpr std::string_view kExitedAt = "ended_at_ns";
inline constexpr std::string_view kStartErrorTicks = "start_within_ticks";
inline constexpr std::string_view kByteRounding = "bytes_rounded";
inline constexpr std::string_view kTookOverLeader = "took_over";
// Hidden: whether the row is not an exit but a new process that descends from the window's command.
inline constexpr std::string_view kIsNewDescendant = "was_born";

// Returns the definitions of all columns above except the hidden ones, including thread_count.
const std::vector<MetricDef>& identity_metrics();
// REQUIRES: `name` is one of the constants above that do not name a hidden column.
const MetricDef& identity_metric(std::string_view name);

}  // namespace ctprof
