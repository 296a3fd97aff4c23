// What a record means: the same figures, in the same units and under the same names, as /proc and
// taskstats give.
//
// The kernel computes some of them when it prints a file; what it does there is done here once
// more, on the variables that it starts from.
//
// What is here:   pure functions on a record.
// What is not:    reading records (pass.hpp), names and cgroups (names.hpp), the
// columns (columns.hpp).

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

constexpr bool has(const record& task, record_has what) { return (task.has & what) != 0; }
constexpr bool is_kernel_thread(const record& task) { return (task.flags & kKernelThread) != 0; }
constexpr bool is_leader(const record& task) { return task.tid == task.tgid; }

// The name as task_struct has it: cut off after 15 bytes.
std::string_view short_name(const record& task);

// The letter of /proc/<tid>/status.
sdk::Figure<sdk::Char> state_letter(const record& task);

// As the kernel prints them: from -20 to 19, and from -100 to 39.
sdk::Figure<sdk::OrdinalI32> nice(const record& task);
sdk::Figure<sdk::OrdinalI32> priority(const record& task);

// As in /proc/<tid>/stat, in nanoseconds: counted at ticks, then scaled to add up to the time that
// the thread ran, and never less than what somebody was told already.
struct CpuTimes {
  std::uint64_t user;
  std::uint64_t system;
};
CpuTimes cpu_times(const record& task);

// The CPUs that the thread may run on and that are online, into `words`; Malformed when there is
// none.
sdk::ReadingOf<sdk::CpuSet> cpus(const record& task, sdk::Words online,
                                 std::vector<std::uint64_t>& words);

// Whether a BPF scheduler is in charge of it: whether its class is the one for that, which is
// nowhere (0) while none is loaded.
sdk::ReadingOf<sdk::Flag> ext_enabled(const record& task,
                                      const sdk::Reading<std::uint64_t>& extensible_class);

sdk::ReadingOf<sdk::GaugeCount> nr_threads(const record& task);
sdk::ReadingOf<sdk::GaugeNs> fair_slice(const record& task);

// The peaks are kept up when memory shrinks; what is resident now may be more.
sdk::ReadingOf<sdk::PeakBytes> hiwater_rss_bytes(const record& task, std::uint64_t page);
sdk::ReadingOf<sdk::PeakBytes> hiwater_vm_bytes(const record& task, std::uint64_t page);

// /proc prints these with a sign, and a reader takes less than zero for zero.
constexpr std::uint64_t unsigned_ns(long long time) {
  return time > 0 ? static_cast<std::uint64_t>(time) : 0;
}
sdk::Figure<sdk::MonotonicNs> voluntary_sleep(const record& task);

}  // namespace ctprof::task_iter
