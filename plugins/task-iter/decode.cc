#include "plugins/task-iter/decode.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "plugins/shared/text_formats.hpp"

namespace ctprof::task_iter {
namespace {

// Bits of a thread's state, from the kernel's include/linux/sched.h. Those up to kParked have a
// letter each.
constexpr std::uint32_t kUninterruptible = 0x0002;
constexpr std::uint32_t kParked = 0x0040;
constexpr std::uint32_t kReportedStates = 2 * kParked - 1;
constexpr std::uint32_t kIdle = 0x0402;      // uninterruptible, but not counted as load
constexpr std::uint32_t kLockWait = 0x1000;  // shown as uninterruptible
constexpr std::uint32_t kFrozen = 0x8000;    // shown as uninterruptible
constexpr std::string_view kLetters = "RSDTtXZPI";

// The kernel's priorities, which are signed here.
constexpr int kFirstFairPriority = 100;
constexpr int kPriorityOfNiceZero = 120;

// Returns a * b / c without overflow of the intermediate result. REQUIRES: c > 0
std::uint64_t multiply_divide(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(Wide{a} * b / c);
}

std::uint64_t scale_system_time(const record& task) {
  const std::uint64_t run_time = task.sum_exec_runtime;
  if (task.stime == 0) return 0;
  if (task.utime == 0) return run_time;
  return std::min(multiply_divide(task.stime, run_time, task.stime + task.utime), run_time);
}

}  // namespace

std::string_view short_name(const record& task) {
  return {task.comm, ::strnlen(task.comm, sizeof task.comm)};
}

sdk::Figure<sdk::Char> find_state_letter(const record& task) {
  if ((task.state & kIdle) == kIdle) return kLetters.substr(kLetters.size() - 1, 1);
  std::uint32_t bits = (task.state | task.exit_state) & kReportedStates;
  if ((task.state & (kLockWait | kFrozen)) != 0) bits = kUninterruptible;
  return kLetters.substr(static_cast<std::size_t>(std::bit_width(bits)), 1);
}

sdk::Figure<sdk::OrdinalI32> read_nice(const record& task) {
  return task.static_prio - kPriorityOfNiceZero;
}

sdk::Figure<sdk::OrdinalI32> read_priority(const record& task) {
  return task.prio - kFirstFairPriority;
}

CpuTimes cpu_times(const record& task) {
  const std::uint64_t run_time = task.sum_exec_runtime;
  if (task.prev_stime + task.prev_utime >= run_time) return {task.prev_utime, task.prev_stime};
  const std::uint64_t system = std::max<std::uint64_t>(scale_system_time(task), task.prev_stime);
  const std::uint64_t user = run_time - system;
  if (user < task.prev_utime) return {task.prev_utime, run_time - task.prev_utime};
  return {user, system};
}

sdk::ReadingOf<sdk::CpuSet> compute_online_cpu_set(const record& task, sdk::Words online,
                                                   std::vector<std::uint64_t>& words) {
  words.assign(online.begin(), online.end());
  for (std::size_t i = 0; i < words.size(); ++i) words[i] &= task.cpus[i];
  while (!words.empty() && words.back() == 0) words.pop_back();
  if (words.empty()) return Gap::Malformed;
  return sdk::Words(words);
}

sdk::ReadingOf<sdk::Flag> is_ext_enabled(const record& task,
                                         const sdk::Reading<std::uint64_t>& extensible_class) {
  if (!extensible_class) return extensible_class.gap;
  return extensible_class.value != 0 && task.sched_class == extensible_class.value;
}

sdk::ReadingOf<sdk::GaugeCount> nr_threads(const record& task) {
  if (!is_leader(task)) return Gap::NotApplicable;
  return task.nr_threads;
}

sdk::ReadingOf<sdk::GaugeNs> fair_slice(const record& task) {
  if (!has_fair_slice(task.policy)) return Gap::NotApplicable;
  return task.slice;
}

sdk::ReadingOf<sdk::PeakBytes> hiwater_rss_bytes(const record& task, std::uint64_t page_size) {
  if ((task.properties & RECORD_OF_MEMORY) == 0) return Gap::NotApplicable;
  return std::max<std::uint64_t>(task.hiwater_rss, task.rss) * page_size;
}

sdk::ReadingOf<sdk::PeakBytes> hiwater_vm_bytes(const record& task, std::uint64_t page_size) {
  if ((task.properties & RECORD_OF_MEMORY) == 0) return Gap::NotApplicable;
  return std::max<std::uint64_t>(task.hiwater_vm, task.total_vm) * page_size;
}

sdk::Figure<sdk::MonotonicNs> voluntary_sleep(const record& task) {
  const std::uint64_t sleep = clamp_negative_ns(task.sum_sleep_runtime),
                      block = clamp_negative_ns(task.sum_block_runtime);
  return sleep > block ? sleep - block : 0;
}

}  // namespace ctprof::task_iter
