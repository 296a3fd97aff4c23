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
struct Facts {
  std::uint64_t ns_per_tick = 10'000'000;
  std::uint64_t page = 4096;
  std::vector<std::uint64_t> online;  // the online CPUs
  sdk::Reading<std::uint64_t> extensible_class = std::uint64_t{0};
};

// Buffers for a text and a set of CPUs; each is valid until the next record.
struct Scratch {
  PolicyRoom policy;
  std::vector<std::uint64_t> words;
};

// Values that depend on more than the record.
sdk::Figure<sdk::IdU64> start_ticks(const record& task, const Facts& facts, Scratch&);
sdk::Figure<sdk::Flag> is_kernel(const record& task, const Facts&, Scratch&);
sdk::Figure<sdk::CategoricalString> policy(const record& task, const Facts&, Scratch& scratch);
sdk::ReadingOf<sdk::CpuSet> allowed_cpus(const record& task, const Facts& facts, Scratch& scratch);
sdk::ReadingOf<sdk::Flag> is_extensible(const record& task, const Facts& facts, Scratch&);
sdk::ReadingOf<sdk::PeakBytes> peak_rss(const record& task, const Facts& facts, Scratch&);
sdk::ReadingOf<sdk::PeakBytes> peak_vm(const record& task, const Facts& facts, Scratch&);

// Returns user or system time, which are computed together.
template <auto kMember>
sdk::Figure<sdk::ClockTicks> ticks(const CpuTimes& times, const Facts& facts) {
  return times.*kMember / facts.ns_per_tick;
}

// Returns one value of one kind of delay.
template <int kKind, auto kMember>
auto delay(const record& task) {
  return task.delays[kKind].*kMember;
}

// Returns a time that the kernel stores with a sign.
template <class N>
constexpr sdk::Figure<N> without_sign(SignedFigure<N> time) {
  return unsigned_ns(time);
}
template <auto kMember>
auto at_least_zero(const record& task) {
  return without_sign(task.*kMember);
}

template <const auto& kMetric, auto kFrom>
using Fill = sdk::Fill<kMetric, kFrom>;
template <const auto& kMetric, int kKind, auto kMember>
using FillDelay = sdk::Fill<kMetric, delay<kKind, kMember>>;
template <const auto& kMetric, auto kMember>
using FillTime = sdk::Fill<kMetric, at_least_zero<kMember>>;

using Identity =
    sdk::Table<Fill<sdk::kTgid, &record::tgid>, Fill<sdk::kTid, &record::tid>,
               Fill<sdk::kStartTime, start_ticks>, Fill<sdk::kKernelThread, is_kernel>>;
using Parent = sdk::Table<Fill<sdk::kParent, &record::parent>>;
using Moments = sdk::Table<Fill<sdk::kReadAt, &record::now_boottime>,
                           Fill<sdk::kBornAt, &record::start_boottime>>;
using InProgress = sdk::Table<Fill<vocabulary::run_in_progress_ns, &record::run_in_progress>,
                              Fill<vocabulary::wait_in_progress_ns, &record::wait_in_progress>>;
using Scheduling =
    sdk::Table<Fill<vocabulary::policy, policy>, Fill<vocabulary::nice, nice>,
               Fill<vocabulary::priority, priority>,
               Fill<vocabulary::rt_priority, &record::rt_priority>,
               Fill<vocabulary::processor, &record::cpu>, Fill<vocabulary::state, state_letter>,
               Fill<vocabulary::nr_migrations, &record::nr_migrations>>;
using Slice = sdk::Table<Fill<vocabulary::fair_slice_ns, fair_slice>>;
using Affinity = sdk::Table<Fill<vocabulary::cpu_affinity, allowed_cpus>>;
using Extensible = sdk::Table<Fill<vocabulary::ext_enabled, is_extensible>>;
using Counters =
    sdk::Table<Fill<vocabulary::nr_threads, nr_threads>, Fill<vocabulary::minflt, &record::min_flt>,
               Fill<vocabulary::majflt, &record::maj_flt>,
               Fill<vocabulary::voluntary_csw, &record::nvcsw>,
               Fill<vocabulary::nonvoluntary_csw, &record::nivcsw>,
               Fill<vocabulary::run_time_ns, &record::sum_exec_runtime>>;
using Times = sdk::Table<Fill<vocabulary::utime_clock_ticks, ticks<&CpuTimes::user>>,
                         Fill<vocabulary::stime_clock_ticks, ticks<&CpuTimes::system>>>;
using Waits = sdk::Table<Fill<vocabulary::wait_time_ns, &record::run_delay>,
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
using Memory = sdk::Table<Fill<vocabulary::hiwater_rss_bytes, peak_rss>,
                          Fill<vocabulary::hiwater_vm_bytes, peak_vm>>;

// The values of each kind of delay, and those that exist since Linux 6.14.
template <int kKind, const auto& kCount, const auto& kTotal>
using DelayOf = sdk::Table<FillDelay<kCount, kKind, &record_delay::count>,
                           FillDelay<kTotal, kKind, &record_delay::total>>;
template <int kKind, const auto& kMax, const auto& kMin>
using ExtremesOf = sdk::Table<FillDelay<kMax, kKind, &record_delay::max>,
                              FillDelay<kMin, kKind, &record_delay::min>>;

using Delays = sdk::Groups<
    DelayOf<RECORD_BLKIO, vocabulary::blkio_delay_count, vocabulary::blkio_delay_total_ns>,
    DelayOf<RECORD_SWAPIN, vocabulary::swapin_delay_count, vocabulary::swapin_delay_total_ns>,
    DelayOf<RECORD_FREEPAGES, vocabulary::freepages_delay_count,
            vocabulary::freepages_delay_total_ns>,
    DelayOf<RECORD_THRASHING, vocabulary::thrashing_delay_count,
            vocabulary::thrashing_delay_total_ns>,
    DelayOf<RECORD_COMPACT, vocabulary::compact_delay_count, vocabulary::compact_delay_total_ns>>;
using Copies =
    DelayOf<RECORD_WPCOPY, vocabulary::wpcopy_delay_count, vocabulary::wpcopy_delay_total_ns>;
using Interrupts = DelayOf<RECORD_IRQ, vocabulary::irq_delay_count, vocabulary::irq_delay_total_ns>;
using DelayExtremes = sdk::Groups<
    ExtremesOf<RECORD_BLKIO, vocabulary::blkio_delay_max_ns, vocabulary::blkio_delay_min_ns>,
    ExtremesOf<RECORD_SWAPIN, vocabulary::swapin_delay_max_ns, vocabulary::swapin_delay_min_ns>,
    ExtremesOf<RECORD_FREEPAGES, vocabulary::freepages_delay_max_ns,
               vocabulary::freepages_delay_min_ns>,
    ExtremesOf<RECORD_THRASHING, vocabulary::thrashing_delay_max_ns,
               vocabulary::thrashing_delay_min_ns>,
    ExtremesOf<RECORD_COMPACT, vocabulary::compact_delay_max_ns, vocabulary::compact_delay_min_ns>,
    ExtremesOf<RECORD_WPCOPY, vocabulary::wpcopy_delay_max_ns, vocabulary::wpcopy_delay_min_ns>>;
using InterruptExtremes =
    ExtremesOf<RECORD_IRQ, vocabulary::irq_delay_max_ns, vocabulary::irq_delay_min_ns>;

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
using Always = sdk::Groups<Scheduling, Slice, Extensible, Counters, InProgress, Waits, WaitExtremes,
                           Io, Memory>;
using AllDelays = sdk::Groups<Delays, Copies, Interrupts, DelayExtremes, InterruptExtremes>;
using AllStatistics = sdk::Groups<Wakeups, Statistics, Forceidle>;

class Columns {
 public:
  static constexpr auto kOffers =
      sdk::joined(Identity::kOffers, Parent::kOffers, Moments::kOffers, Always::kOffers,
                  Times::kOffers, Affinity::kOffers, AllDelays::kOffers, AllStatistics::kOffers);

  explicit Columns(const sdk::Batch& batch);
  void put(std::uint32_t row, const record& task, const Facts& facts);
  // Writes the same gap to all columns except the identity.
  void fail(std::uint32_t row, Gap gap);

 private:
  Identity identity_;
  Parent parent_;
  Moments moments_;
  Always always_;
  Times times_;
  Affinity affinity_;
  AllDelays delays_;
  AllStatistics statistics_;
  Scratch scratch_{};
};

// Hidden columns for sources that read the memory of a user thread: the address of its thread-local
// storage, and its program.
inline constexpr sdk::Metric<sdk::IdU64, sdk::Key> kThreadPointer{
    {.name = "thread_pointer",
     .description = "Where the thread's own storage is.",
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
sdk::ReadingOf<sdk::IdU64> place(const record& task) {
  if ((task.of & RECORD_OF_MEMORY) == 0) return Gap::NotApplicable;
  return std::uint64_t{task.*kMember};
}

using Places = sdk::Table<sdk::Fill<kThreadPointer, place<&record::thread_pointer>>,
                          sdk::Fill<kCodeStart, place<&record::start_code>>,
                          sdk::Fill<kCodeEnd, place<&record::end_code>>,
                          sdk::Fill<kStackStart, place<&record::start_stack>>>;

}  // namespace ctprof::task_iter
