// ctprof's own columns: who a row is, and what a stage brings with it.
//
// A plugin declares none of these. A lister offers the first four (listing.hpp), and every source
// may read those of its stage (reads.hpp):
//
//   auto tgids = batch.input(sdk::kProcessTgid);
//
// Names and types are fixed for as long as ABI 1 is served.

#pragma once

#include "ctprof/metric.hpp"

namespace ctprof::sdk {

// Of threads. A thread id is used again after its thread has ended; together with the start time it
// names one thread for good, within one boot.
inline constexpr Metric<IdU32, Key> kTgid{{.name = "tgid"}};
inline constexpr Metric<IdU32, Key> kTid{{.name = "tid"}};
inline constexpr Metric<IdText, Key> kComm{{.name = "comm"}};
inline constexpr Metric<IdU64, Key> kStartTime{{.name = "start_time_clock_ticks", .unit = "ticks"}};
inline constexpr Metric<IdText, Key> kCgroup{{.name = "cgroup"}};

// Of processes and of cgroups.
inline constexpr Metric<IdU32, Key, Entity::Process> kProcessTgid{{.name = "process.tgid"}};
inline constexpr Metric<IdText, Key, Entity::Cgroup> kCgroupPath{{.name = "cgroup.path"}};

// Hidden columns of threads, there for one batch. Read them as optional: a lister may bring
// neither.
//
// The open directory /proc/<tgid>/task/<tid>, as a file descriptor that is not to be closed, or -1.
inline constexpr Metric<OrdinalI32, RangeI32> kTaskDir{
    {.name = "task_dir", .flags = CTPROF_METRIC_HIDDEN}};
// The thread's file `stat` as the lister read it, whole.
inline constexpr Metric<IdText, Key> kStatText{{.name = "stat", .flags = CTPROF_METRIC_HIDDEN}};

}  // namespace ctprof::sdk
