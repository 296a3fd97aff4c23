// off-cpu: where threads wait, and for how long. Counts every switch, and records a stack per
// period of waiting time.
//
// Source: BPF programs at sched_switch, sched_wakeup and sched_wakeup_new, which store sums with
// each thread and record its stack when it resumes. Needs CAP_BPF and CAP_PERFMON, BTF, the host's
// PID namespace, and Linux 5.10.
//
// Contents: the recorder, its metrics, the plugin's table.
// See also: off_cpu.bpf.c for the programs, waits.hpp for their output, probe.hpp for the probe.

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "ctprof/plugin.hpp"
#include "plugins/off-cpu/probe.hpp"
#include "plugins/off-cpu/programs.hpp"
#include "plugins/off-cpu/waits.hpp"

namespace ctprof::off_cpu {
namespace {

constexpr std::uint64_t kRingBytes = 16 << 20, kLargeRingBytes = 64 << 20,
                        kMaxRingBytes = 512 << 20;

constexpr const char* kSection = "off-cpu";
// For metrics that are not in rows files, because these contain no windows.
constexpr const char* kNoPlace = "none";
constexpr const char* kSwitches = "BPF: sched_switch";
constexpr const char* kWakeups = "BPF: sched_switch, sched_wakeup";

inline constexpr sdk::Metric<sdk::StackNs, sdk::StackSum> kStacks{
    {.name = "offcpu_stacks",
     .section = "stacks",
     .source = kWakeups,
     .description = "Time that threads were blocked, by the call stack that waited.",
     .caveat =
         "With --offcpu-stacks all it covers all time off a CPU. The weights of a thread's stacks "
         "add up to its waiting time, to the nanosecond; [rest] has the time without a stack.",
     .role = "waiting-stacks"}};
inline constexpr sdk::Metric<sdk::MonotonicCount, sdk::SumCount> kCount{
    {.name = "offcpu_count",
     .section = kSection,
     .source = kSwitches,
     .description = "How often a thread was off a CPU: blocked, preempted, or both in succession.",
     .caveat = "Of a wait that extends beyond the window, only the part inside counts.",
     .file_path = kNoPlace}};
inline constexpr sdk::Metric<sdk::MonotonicNs, sdk::SumNs> kTotal{
    {.name = "offcpu_ns",
     .section = kSection,
     .source = kSwitches,
     .description = "Time off a CPU, from leaving one until the thread runs again.",
     .caveat = "Counts every switch: the sum of the interruptible, uninterruptible, queued and "
               "preempted times.",
     .file_path = kNoPlace}};
inline constexpr sdk::Metric<sdk::PeakNs, sdk::MaxPeak> kLongest{
    {.name = "offcpu_max_ns",
     .section = kSection,
     .source = kSwitches,
     .description = "Longest single time off a CPU inside the window.",
     .file_path = kNoPlace,
     .flags = CTPROF_METRIC_OF_WINDOW}};
inline constexpr sdk::Metric<sdk::PeakNs, sdk::MaxPeak> kShortest{
    {.name = "offcpu_min_ns",
     .section = kSection,
     .source = kSwitches,
     .description = "Shortest single time off a CPU inside the window.",
     .caveat = "A group shows the largest of its threads' shortest times.",
     .file_path = kNoPlace,
     .flags = CTPROF_METRIC_OF_WINDOW}};
inline constexpr sdk::Metric<sdk::MonotonicCount, sdk::SumCount> kSleepCount{
    {.name = "offcpu_interruptible_count",
     .section = kSection,
     .source = kWakeups,
     .description = "How often a thread was blocked where a signal can wake it.",
     .file_path = kNoPlace}};
inline constexpr sdk::Metric<sdk::MonotonicNs, sdk::SumNs> kSleepTotal{
    {.name = "offcpu_interruptible_ns",
     .section = kSection,
     .source = kWakeups,
     .description = "Time blocked where a signal can wake it: asleep, or waiting for others.",
     .caveat = "Idle kernel threads and stopped threads are counted here.",
     .file_path = kNoPlace}};
inline constexpr sdk::Metric<sdk::MonotonicCount, sdk::SumCount> kBlockCount{
    {.name = "offcpu_uninterruptible_count",
     .section = kSection,
     .source = kWakeups,
     .description = "How often a thread was blocked where no signal wakes it.",
     .file_path = kNoPlace}};
// A group that is blocked for 1 % of the time is above the floor.
inline constexpr ctprof_headline kBlockHeadline{.size = sizeof(ctprof_headline),
                                                .order = 36,
                                                .label = "%D",
                                                .shown = CTPROF_SHOWN_PERCENT,
                                                .flags = 0,
                                                .floor = 1e7};
inline constexpr sdk::Metric<sdk::MonotonicNs, sdk::SumNs> kBlockTotal{
    {.name = "offcpu_uninterruptible_ns",
     .section = kSection,
     .source = kWakeups,
     .description =
         "Time blocked where no signal wakes it: disks, page faults, the kernel's locks.",
     .file_path = kNoPlace,
     .headline = &kBlockHeadline}};
inline constexpr sdk::Metric<sdk::MonotonicCount, sdk::SumCount> kQueueCount{
    {.name = "offcpu_queued_count",
     .section = kSection,
     .source = kWakeups,
     .description = "How often a thread waited for a CPU after it was woken up or created.",
     .file_path = kNoPlace}};
inline constexpr sdk::Metric<sdk::MonotonicNs, sdk::SumNs> kQueueTotal{
    {.name = "offcpu_queued_ns",
     .section = kSection,
     .source = kWakeups,
     .description = "Time that a thread waited for a CPU after it was woken up or created.",
     .caveat = "Counts from sched_wakeup, when the thread is on a run queue; the time before that "
               "is blocked time.",
     .file_path = kNoPlace}};
inline constexpr sdk::Metric<sdk::MonotonicCount, sdk::SumCount> kPreemptCount{
    {.name = "offcpu_preempted_count",
     .section = kSection,
     .source = kSwitches,
     .description = "How often a runnable thread was preempted, or yielded its CPU.",
     .file_path = kNoPlace}};
inline constexpr sdk::Metric<sdk::MonotonicNs, sdk::SumNs> kPreemptTotal{
    {.name = "offcpu_preempted_ns",
     .section = kSection,
     .source = kSwitches,
     .description = "Time that a thread waited for a CPU without having slept.",
     .file_path = kNoPlace}};

constexpr const char* kHistogramLimits =
    "Counts every time in the window, in two buckets per power of two: a percentile is an upper "
    "limit, at most half above the real value. Times below 768 ns count as 767 ns, and times above "
    "27 min as 36 min. A time that extends beyond the window counts with its part inside.";
// Shown if it was requested; a high percentile does not order the rows, because a group with a
// single wait has one, too.
constexpr ctprof_headline kWaitHeadline{.size = sizeof(ctprof_headline),
                                        .order = 37,
                                        .label = "p99wait",
                                        .shown = CTPROF_SHOWN_LEVEL,
                                        .flags = CTPROF_HEADLINE_BY_CHANGE,
                                        .floor = 1e6};
inline constexpr sdk::Metric<sdk::HistogramNs, sdk::HistogramMerge> kBlockedWaits{
    {.name = "blocked_wait_histogram_ns",
     .section = kSection,
     .source = kWakeups,
     .description = "Single times for which a thread was blocked, by their length.",
     .caveat = kHistogramLimits,
     .file_path = kNoPlace,
     .flags = CTPROF_METRIC_COSTLY}};
inline constexpr sdk::Metric<sdk::HistogramNs, sdk::HistogramMerge> kCpuWaits{
    {.name = "cpu_wait_histogram_ns",
     .section = kSection,
     .source = kWakeups,
     .description = "Single times for which a runnable thread waited for a CPU, by their length.",
     .caveat = kHistogramLimits,
     .file_path = kNoPlace,
     .flags = CTPROF_METRIC_COSTLY,
     .headline = &kWaitHeadline}};
inline constexpr sdk::Metric<sdk::HistogramNs, sdk::HistogramMerge> kSlices{
    {.name = "time_slice_histogram_ns",
     .section = kSection,
     .source = kSwitches,
     .description = "Single times for which a thread ran without leaving its CPU, by their length.",
     .caveat = kHistogramLimits,
     .file_path = kNoPlace,
     .flags = CTPROF_METRIC_COSTLY}};

// The subtracted term is the delay part of the time off a CPU, as in total_offcpu_delay_ns.
constexpr std::array kDerived{ctprof_derived{
    .size = sizeof(ctprof_derived),
    .entity = CTPROF_THREAD,
    .name = "offcpu_beyond_delays_ns",
    .expression =
        "offcpu_ns - (cpu_delay_total_ns? + blkio_delay_total_ns? + freepages_delay_total_ns? + "
        "compact_delay_total_ns? + wpcopy_delay_total_ns? + max(swapin_delay_total_ns?, "
        "thrashing_delay_total_ns?))",
    .unit = "ns",
    .family = "cumulative",
    .section = kSection,
    .sched_class = nullptr,
    .config_gates = nullptr,
    .applies_to = nullptr,
    .description = "Time off a CPU that delay accounting does not cover: sleep, locks, pipes.",
    .caveat = "Time off a CPU minus the recorded delays; a delay that was spent on a CPU, such as "
              "copying a page, is subtracted, too. No value if the delays exceed the time off a "
              "CPU, because they overlap.",
    .headline = nullptr,
    .role = nullptr}};
constexpr sdk::Extra kExtra{.derived = sdk::array_of(kDerived), .flags = CTPROF_PLUGIN_RECORDER};

std::uint64_t choose_ring_bytes(const sdk::Window& window, std::uint64_t cpus) {
  const bool has_many_stacks = window.every_stack() || window.all_waits();
  const std::uint64_t default_bytes = has_many_stacks ? kLargeRingBytes : kRingBytes;
  const std::uint64_t requested_bytes =
      window.ring_bytes() > 0 ? window.ring_bytes() * cpus : default_bytes;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return std::bit_floor(std::clamp(requested_bytes, page, kMaxRingBytes));
}

class OffCpu : public sdk::RecordSource {
 public:
  static constexpr auto kOffers =
      sdk::offers(kStacks, kCount, kTotal, kLongest, kShortest, kSleepCount, kSleepTotal,
                  kBlockCount, kBlockTotal, kQueueCount, kQueueTotal, kPreemptCount, kPreemptTotal,
                  kBlockedWaits, kCpuWaits, kSlices);

  explicit OffCpu(const sdk::Host& host) : host_(host) {}
  static void probe(const sdk::Host& host, const sdk::Probe& probe) {
    probe_host(host, probe);
    if (can_store_histograms()) return;
    for (const auto* histogram : {&kBlockedWaits, &kCpuWaits, &kSlices})
      probe.refuse(*histogram, Gap::Unsupported, "the kernel lacks storage for tasks (Linux 5.11)");
  }

  void start(const sdk::Window& window) {
    Setup setup;
    setup.pids.assign(window.pids().begin(), window.pids().end());
    setup.inherits = window.inherits();
    if (!window.cgroups().empty()) setup.cgroup = window.cgroups().front();
    if (window.period_ns() > 0) setup.period_ns = window.period_ns();
    setup.records_every_stack = window.every_stack();
    setup.charges_all_waits = window.all_waits();
#ifdef __x86_64__
    setup.walks_user_stacks = window.makes_tables();
#endif
    if (window.depth() > 0) setup.depth = window.depth();
    for (std::uint32_t kind = 0; kind < OFF_HISTOGRAMS; ++kind)
      if (window.requests(kOfferFirstHistogram + kind)) setup.histograms |= 1U << kind;
    setup.ring_bytes =
        choose_ring_bytes(window, static_cast<std::uint64_t>(::sysconf(_SC_NPROCESSORS_ONLN)));
    int error = 0;
    auto programs = Programs::load(setup, error);
    if (!programs) throw std::runtime_error(explain_refusal(host_, error).reason);
    waits_.emplace(host_, std::move(programs), setup, window.budget_ppm());
    try {
      waits_->start();
    } catch (const RefusedOperation& refused) {
      throw std::runtime_error(refused.operation + ": " +
                               explain_refusal(host_, refused.error).reason);
    }
  }

  void drain(const sdk::Records& records) { waits_->drain(records); }
  void window_opens() { waits_->window_opens(); }
  void window_ends() { waits_->window_ends(); }
  void stop() { waits_->stop(); }

 private:
  sdk::Host host_;
  std::optional<Waits> waits_;
};

}  // namespace
}  // namespace ctprof::off_cpu

CTPROF_PLUGIN_WITH("off-cpu", "1.0",
                   "Where threads wait and for how long, from every context switch.",
                   ctprof::off_cpu::kExtra, ctprof::off_cpu::OffCpu)
