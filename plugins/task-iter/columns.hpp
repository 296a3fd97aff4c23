// The columns that a record fills, in groups that a kernel supports or lacks as a whole: maps each
// column to its member, and offers, fills and refuses the groups. Also declares the hidden columns
// that a reader of memory needs.
//
// See also: decode.hpp for the meaning of values; names.hpp for names and cgroups, which need other
// files.

#pragma once

#include <cstdint>
#include <vector>

#include "ctprof/batch.hpp"
#include "ctprof/listing.hpp"
#include "ctprof/reads.hpp"
#include "ctprof/table.hpp"
#include "plugins/shared/text_formats.hpp"
#include "plugins/task-iter/decode.hpp"
#include "plugins/vocabulary/vocabulary.hpp"

namespace ctprof::task_iter {

// Values that are the same for all threads of the host.
struct HostFacts {
  std::uint64_t ns_per_tick = 10'000'000;
  std::uint64_t page_size = 4096;
  std::vector<std::uint64_t> online_cpus;  // the online CPUs
  sdk::Reading<std::uint64_t> extensible_class = std::uint64_t{0};
};

// Buffers for a text and a set of CPUs; each is valid until the next record.
struct ScratchBuffers {
  PolicyNameBuffer policy;
  std::vector<std::uint64_t> words;
};

// Values that depend on more than the record.
sdk::Figure<sdk::IdU64> compute_start_ticks(const record& task, const HostFacts& facts,
                                            ScratchBuffers&);
sdk::Figure<sdk::Flag> is_kernel(const record& task, const HostFacts&, ScratchBuffers&);
sdk::Figure<sdk::CategoricalString> find_policy_name(const record& task, const HostFacts&,
                                                     ScratchBuffers& scratch);
sdk::ReadingOf<sdk::CpuSet> find_allowed_cpus(const record& task, const HostFacts& facts,
                                              ScratchBuffers& scratch);
sdk::ReadingOf<sdk::Flag> is_extensible(const record& task, const HostFacts& facts,
                                        ScratchBuffers&);
sdk::ReadingOf<sdk::PeakBytes> compute_peak_rss(const record& task, const HostFacts& facts,
                                                ScratchBuffers&);
sdk::ReadingOf<sdk::PeakBytes> compute_peak_vm(const record& task, const HostFacts& facts,
                                               ScratchBuffers&);

// Returns user or system time, which are computed together.
template <auto kMember>
sdk::Figure<sdk::ClockTicks> ticks(const CpuTimes& times, const HostFacts& facts) {
  return times.*kMember / facts.ns_per_tick;
}

// Returns one value of one kind of delay.
template <int kKind, auto kMember>
auto delay_value(const record& task) {
  return task.delays[kKind].*kMember;
}

// Returns a time that the kernel stores with a sign.
template <class N>
constexpr sdk::Figure<N> clamp_to_zero(SignedValue<N> time) {
  return clamp_negative_ns(time);
}
template <auto kMember>
auto clamped_time(const record& task) {
  return clamp_to_zero(task.*kMember);
}

template <const auto& kMetric, auto kFunctionOrMember>
using Fill = sdk::Fill<kMetric, kFunctionOrMember>;
template <const auto& kMetric, int kKind, auto kMember>
using FillDelay = sdk::Fill<kMetric, delay_value<kKind, kMember>>;
template <const auto& kMetric, auto kMember>
using FillTime = sdk::Fill<kMetric, clamped_time<kMember>>;

using Identity =
    sdk::Table<Fill<sdk::kTgid, &record::tgid>, Fill<sdk::kTid, &record::tid>,
               Fill<sdk::kStartTime, compute_start_ticks>, Fill<sdk::kKernelThread, is_kernel>>;
using Parent = sdk::Table<Fill<sdk::kParent, &record::parent>>;
using Timestamps = sdk::Table<Fill<sdk::kReadAt, &record::now_boottime>,
                              Fill<sdk::kBornAt, &record::start_boottime>>;
using InProgress = sdk::Table<Fill<vocabulary::run_in_progress_ns, &record::run_in_progress>,
                              Fill<vocabulary::wait_in_progress_ns, &record::wait_in_progress>>;
using Scheduling = sdk::Table<
    Fill<vocabulary::policy, find_policy_name>, Fill<vocabulary::nice, read_nice>,
    Fill<vocabulary::priority, read_priority>, Fill<vocabulary::rt_priority, &record::rt_priority>,
    Fill<vocabulary::processor, &record::cpu>, Fill<vocabulary::state, find_state_letter>,
    Fill<vocabulary::nr_migrations, &record::nr_migrations>>;
using Slice = sdk::Table<Fill<vocabulary::fair_slice_ns, fair_slice>>;
using Affinity = sdk::Table<Fill<vocabulary::cpu_affinity, find_allowed_cpus>>;
using ExtClassColumns = sdk::Table<Fill<vocabulary::ext_enabled, is_extensible>>;
using Counters =
    sdk::Table<Fill<vocabulary::nr_threads, nr_threads>, Fill<vocabulary::minflt, &record::min_flt>,
               Fill<vocabulary::majflt, &record::maj_flt>,
               Fill<vocabulary::voluntary_csw, &record::nvcsw>,
               Fill<vocabulary::nonvoluntary_csw, &record::nivcsw>,
               Fill<vocabulary::run_time_ns, &record::sum_exec_runtime>>;
using CpuTimeColumns = sdk::Table<Fill<vocabulary::utime_clock_ticks, ticks<&CpuTimes::user>>,
                                  Fill<vocabulary::stime_clock_ticks, ticks<&CpuTimes::system>>>;
using RunQueueWaits = sdk::Table<Fill<vocabulary::wait_time_ns, &record::run_delay>,
                                 Fill<vocabulary::timeslices, &record::pcount>,
                                 Fill<vocabulary::cpu_delay_count, &record::pcount>,
                                 Fill<vocabulary::cpu_delay_total_ns, &record::run_delay>>;
using WaitExtremes = sdk::Table<Fill<vocabulary::cpu_delay_max_ns, &record::max_run_delay>,
                                Fill<vocabulary::cpu_delay_min_ns, &record::min_run_delay>>;
using Io =
    sdk::Table<Fill<vocabulary::rchar, &record::rchar>, Fill<vocabulary::wchar, &record::wchar>,
               Fill<vocabulary::syscr, &record::syscr>, Fill<vocabulary::syscw, &record::syscw>,
               Fill<vocabulary::read_bytes, &record::read_bytes>,
               Fill<vocabulary::write_bytes, &record::write_bytes>,
               Fill<vocabulary::cancelled_write_bytes, &record::cancelled_write_bytes>>;
using Memory = sdk::Table<Fill<vocabulary::hiwater_rss_bytes, compute_peak_rss>,
                          Fill<vocabulary::hiwater_vm_bytes, compute_peak_vm>>;

// The values of each kind of delay, and those that exist since Linux 6.14.
template <int kKind, const auto& kCount, const auto& kTotal>
using DelayColumns = sdk::Table<FillDelay<kCount, kKind, &record_delay::count>,
                                FillDelay<kTotal, kKind, &record_delay::total>>;
template <int kKind, const auto& kMax, const auto& kMin>
using DelayExtremeColumns = sdk::Table<FillDelay<kMax, kKind, &record_delay::max>,
                                       FillDelay<kMin, kKind, &record_delay::min>>;

using Delays = sdk::Groups<
    DelayColumns<RECORD_BLKIO, vocabulary::blkio_delay_count, vocabulary::blkio_delay_total_ns>,
    DelayColumns<RECORD_SWAPIN, vocabulary::swapin_delay_count, vocabulary::swapin_delay_total_ns>,
    DelayColumns<RECORD_FREEPAGES, vocabulary::freepages_delay_count,
                 vocabulary::freepages_delay_total_ns>,
    DelayColumns<RECORD_THRASHING, vocabulary::thrashing_delay_count,
                 vocabulary::thrashing_delay_total_ns>,
    DelayColumns<RECORD_COMPACT, vocabulary::compact_delay_count,
                 vocabulary::compact_delay_total_ns>>;
using CopyOnWriteDelays =
    DelayColumns<RECORD_WPCOPY, vocabulary::wpcopy_delay_count, vocabulary::wpcopy_delay_total_ns>;
using InterruptDelays =
    DelayColumns<RECORD_IRQ, vocabulary::irq_delay_count, vocabulary::irq_delay_total_ns>;
using DelayExtremes =
    sdk::Groups<DelayExtremeColumns<RECORD_BLKIO, vocabulary::blkio_delay_max_ns,
                                    vocabulary::blkio_delay_min_ns>,
                DelayExtremeColumns<RECORD_SWAPIN, vocabulary::swapin_delay_max_ns,
                                    vocabulary::swapin_delay_min_ns>,
                DelayExtremeColumns<RECORD_FREEPAGES, vocabulary::freepages_delay_max_ns,
                                    vocabulary::freepages_delay_min_ns>,
                DelayExtremeColumns<RECORD_THRASHING, vocabulary::thrashing_delay_max_ns,
                                    vocabulary::thrashing_delay_min_ns>,
                DelayExtremeColumns<RECORD_COMPACT, vocabulary::compact_delay_max_ns,
                                    vocabulary::compact_delay_min_ns>,
                DelayExtremeColumns<RECORD_WPCOPY, vocabulary::wpcopy_delay_max_ns,
                                    vocabulary::wpcopy_delay_min_ns>>;
using InterruptExtremes =
    DelayExtremeColumns<RECORD_IRQ, vocabulary::irq_delay_max_ns, vocabulary::irq_delay_min_ns>;

using Wakeups = sdk::Table<
    Fill<vocabulary::nr_wakeups, &record::nr_wakeups>,
    Fill<vocabulary::nr_wakeups_local, &record::nr_wakeups_local>,
    Fill<vocabulary::nr_wakeups_remote, &record::nr_wakeups_remote>,
    Fill<vocabulary::nr_wakeups_sync, &record::nr_wakeups_sync>,
    Fill<vocabulary::nr_wakeups_migrate, &record::nr_wakeups_migrate>,
    Fill<vocabulary::nr_wakeups_affine, &record::nr_wakeups_affine>,
    Fill<vocabulary::nr_wakeups_affine_attempts, &record::nr_wakeups_affine_attempts>,
    Fill<vocabulary::nr_forced_migrations, &record::nr_forced_migrations>,
    Fill<vocabulary::nr_failed_migrations_affine, &record::nr_failed_migrations_affine>,
    Fill<vocabulary::nr_failed_migrations_running, &record::nr_failed_migrations_running>,
    Fill<vocabulary::nr_failed_migrations_hot, &record::nr_failed_migrations_hot>>;
using Statistics = sdk::Table<FillTime<vocabulary::wait_sum, &record::wait_sum>,
                              Fill<vocabulary::wait_count, &record::wait_count>,
                              FillTime<vocabulary::wait_max, &record::wait_max>,
                              Fill<vocabulary::voluntary_sleep_ns, voluntary_sleep>,
                              FillTime<vocabulary::sleep_max, &record::sleep_max>,
                              FillTime<vocabulary::block_sum, &record::sum_block_runtime>,
                              FillTime<vocabulary::block_max, &record::block_max>,
                              FillTime<vocabulary::iowait_sum, &record::iowait_sum>,
                              Fill<vocabulary::iowait_count, &record::iowait_count>,
                              FillTime<vocabulary::exec_max, &record::exec_max>,
                              FillTime<vocabulary::slice_max, &record::slice_max>>;
using Forceidle = sdk::Table<FillTime<vocabulary::core_forceidle_sum, &record::core_forceidle_sum>>;

// Columns that are filled for every thread; for threads whose delays are accounted; and if the
// kernel has the scheduler's statistics.
using AlwaysFilled = sdk::Groups<Scheduling, Slice, ExtClassColumns, Counters, InProgress,
                                 RunQueueWaits, WaitExtremes, Io, Memory>;
using AllDelays =
    sdk::Groups<Delays, CopyOnWriteDelays, InterruptDelays, DelayExtremes, InterruptExtremes>;
using AllStatistics = sdk::Groups<Wakeups, Statistics, Forceidle>;

class Columns {
 public:
  static constexpr auto kOffers = sdk::joined(
      Identity::kOffers, Parent::kOffers, Timestamps::kOffers, AlwaysFilled::kOffers,
      CpuTimeColumns::kOffers, Affinity::kOffers, AllDelays::kOffers, AllStatistics::kOffers);

  explicit Columns(const sdk::Batch& batch);
  void put(std::uint32_t row, const record& task, const HostFacts& facts);
  // Writes the same gap to all columns except the identity.
  void fail(std::uint32_t row, Gap gap);

 private:
  Identity identity_;
  Parent parent_;
  Timestamps timestamps_;
  AlwaysFilled always_;
  CpuTimeColumns times_;
  Affinity affinity_;
  AllDelays delays_;
  AllStatistics statistics_;
  ScratchBuffers scratch_{};
};

// Hidden columns for sources that read the memory of a user thread: the address of its thread-local
// storage, and its program.
inline constexpr sdk::Metric<sdk::IdU64, sdk::Key> kThreadPointer{
    {.name = "thread_pointer",
     .description = "Address of the thread's thread-local storage.",
     .flags = CTPROF_METRIC_HIDDEN}};
inline constexpr sdk::Metric<sdk::IdU64, sdk::Key> kCodeStart{
    {.name = "code_start",
     .description = "Where the program's code begins.",
     .flags = CTPROF_METRIC_HIDDEN}};
inline constexpr sdk::Metric<sdk::IdU64, sdk::Key> kCodeEnd{
    {.name = "code_end",
     .description = "Where the program's code ends.",
     .flags = CTPROF_METRIC_HIDDEN}};
inline constexpr sdk::Metric<sdk::IdU64, sdk::Key> kStackStart{
    {.name = "stack_start",
     .description = "Where the first thread's stack begins.",
     .flags = CTPROF_METRIC_HIDDEN}};

// Kernel threads and exited threads have none of these.
template <auto kMember>
sdk::ReadingOf<sdk::IdU64> memory_address(const record& task) {
  if ((task.properties & RECORD_OF_MEMORY) == 0) return Gap::NotApplicable;
  return std::uint64_t{task.*kMember};
}

using MemoryAddresses =
    sdk::Table<sdk::Fill<kThreadPointer, memory_address<&record::thread_pointer>>,
               sdk::Fill<kCodeStart, memory_address<&record::start_code>>,
               sdk::Fill<kCodeEnd, memory_address<&record::end_code>>,
               sdk::Fill<kStackStart, memory_address<&record::start_stack>>>;

}  // namespace ctprof::task_iter
