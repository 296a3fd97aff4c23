// The meaning of a record: the same values, in the same units and under the same names, as those of
// /proc and taskstats.
//
// The kernel computes some of them when it prints a file. The functions here repeat that
// computation on the same kernel variables. All are pure functions on a record.
//
// See also: pass.hpp for reading records, names.hpp for names and cgroups, columns.hpp for the
// columns.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ctprof/batch.hpp"
#include "plugins/task-iter/record.h"

namespace ctprof::task_iter {

// From the kernel's include/linux/sched.h.
inline constexpr std::uint32_t kWorker = 0x00000020;        // PF_WQ_WORKER
inline constexpr std::uint32_t kKernelThread = 0x00200000;  // PF_KTHREAD

constexpr bool has_feature(const record& task, record_features feature) {
  return (task.features & feature) != 0;
}
constexpr bool is_kernel_thread(const record& task) { return (task.flags & kKernelThread) != 0; }
constexpr bool is_leader(const record& task) { return task.tid == task.tgid; }

// Returns the name in task_struct, which is truncated after 15 bytes.
std::string_view short_name(const record& task);

// Returns the letter of /proc/<tid>/status.
sdk::Figure<sdk::Char> find_state_letter(const record& task);

// Return the values that the kernel prints: from -20 to 19, and from -100 to 39.
sdk::Figure<sdk::OrdinalI32> read_nice(const record& task);
sdk::Figure<sdk::OrdinalI32> read_priority(const record& task);

// User and system time as in /proc/<tid>/stat, in nanoseconds: counted at ticks, then scaled to add
// up to the run time of the thread, and never less than an earlier value that the kernel reported.
struct CpuTimes {
  std::uint64_t user;
  std::uint64_t system;
};
CpuTimes cpu_times(const record& task);

// Writes the online CPUs that the thread may run on into `words`; Malformed if there are none.
sdk::ReadingOf<sdk::CpuSet> compute_online_cpu_set(const record& task, sdk::Words online,
                                                   std::vector<std::uint64_t>& words);

// Returns whether a BPF scheduler controls the thread: whether its class is the class for BPF
// schedulers, whose address is 0 while none is loaded.
sdk::ReadingOf<sdk::Flag> is_ext_enabled(const record& task,
                                         const sdk::Reading<std::uint64_t>& extensible_class);

sdk::ReadingOf<sdk::GaugeCount> nr_threads(const record& task);
sdk::ReadingOf<sdk::GaugeNs> fair_slice(const record& task);

// Peaks are updated only when memory shrinks; the current resident size may be larger.
sdk::ReadingOf<sdk::PeakBytes> hiwater_rss_bytes(const record& task, std::uint64_t page_size);
sdk::ReadingOf<sdk::PeakBytes> hiwater_vm_bytes(const record& task, std::uint64_t page_size);

// /proc prints these with a sign, and its readers treat values below zero as zero.
constexpr std::uint64_t clamp_negative_ns(long long time) {
  return time > 0 ? static_cast<std::uint64_t>(time) : 0;
}
sdk::Figure<sdk::MonotonicNs> voluntary_sleep(const record& task);

}  // namespace ctprof::task_iter
