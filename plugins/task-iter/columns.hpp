// The columns that a record fills by itself, in groups that this kernel has or has not.
//
// What is here:   offering, filling and refusing them.
// What is not:    what a figure means (decode.hpp), names and cgroups, for which other files are
// asked (names.hpp, cgroups.hpp).

#pragma once

#include <cstdint>
#include <vector>

#include "ctprof/batch.hpp"
#include "ctprof/listing.hpp"
#include "plugins/shared/fields.hpp"
#include "plugins/task-iter/decode.hpp"
#include "plugins/vocabulary/vocabulary.hpp"

namespace ctprof::task_iter {

// The same for all threads of the host.
struct Facts {
  std::uint64_t ns_per_tick = 10'000'000;
  std::uint64_t page = 4096;
  std::vector<std::uint64_t> online;  // the CPUs that are
  sdk::Reading<std::uint64_t> extensible_class = std::uint64_t{0};
};

using Identity = Fields<sdk::kTgid, sdk::kTid, sdk::kStartTime>;
using Scheduling =
    Fields<vocabulary::policy, vocabulary::nice, vocabulary::priority, vocabulary::rt_priority,
           vocabulary::processor, vocabulary::state, vocabulary::nr_migrations>;
using Slice = Fields<vocabulary::fair_slice_ns>;
using Affinity = Fields<vocabulary::cpu_affinity>;
using Extensible = Fields<vocabulary::ext_enabled>;
using Counters =
    Fields<vocabulary::nr_threads, vocabulary::minflt, vocabulary::majflt,
           vocabulary::voluntary_csw, vocabulary::nonvoluntary_csw, vocabulary::run_time_ns>;
using Times = Fields<vocabulary::utime_clock_ticks, vocabulary::stime_clock_ticks>;
using Waits = Fields<vocabulary::wait_time_ns, vocabulary::timeslices, vocabulary::cpu_delay_count,
                     vocabulary::cpu_delay_total_ns>;
using WaitExtremes = Fields<vocabulary::cpu_delay_max_ns, vocabulary::cpu_delay_min_ns>;
using Io =
    Fields<vocabulary::rchar, vocabulary::wchar, vocabulary::syscr, vocabulary::syscw,
           vocabulary::read_bytes, vocabulary::write_bytes, vocabulary::cancelled_write_bytes>;
using Memory = Fields<vocabulary::hiwater_rss_bytes, vocabulary::hiwater_vm_bytes>;
using Delays = Fields<vocabulary::blkio_delay_count, vocabulary::blkio_delay_total_ns,
                      vocabulary::swapin_delay_count, vocabulary::swapin_delay_total_ns,
                      vocabulary::freepages_delay_count, vocabulary::freepages_delay_total_ns,
                      vocabulary::thrashing_delay_count, vocabulary::thrashing_delay_total_ns,
                      vocabulary::compact_delay_count, vocabulary::compact_delay_total_ns>;
using Copies = Fields<vocabulary::wpcopy_delay_count, vocabulary::wpcopy_delay_total_ns>;
using Interrupts = Fields<vocabulary::irq_delay_count, vocabulary::irq_delay_total_ns>;
using DelayExtremes = Fields<vocabulary::blkio_delay_max_ns, vocabulary::blkio_delay_min_ns,
                             vocabulary::swapin_delay_max_ns, vocabulary::swapin_delay_min_ns,
                             vocabulary::freepages_delay_max_ns, vocabulary::freepages_delay_min_ns,
                             vocabulary::thrashing_delay_max_ns, vocabulary::thrashing_delay_min_ns,
                             vocabulary::compact_delay_max_ns, vocabulary::compact_delay_min_ns,
                             vocabulary::wpcopy_delay_max_ns, vocabulary::wpcopy_delay_min_ns>;
using InterruptExtremes = Fields<vocabulary::irq_delay_max_ns, vocabulary::irq_delay_min_ns>;
using Wakeups =
    Fields<vocabulary::nr_wakeups, vocabulary::nr_wakeups_local, vocabulary::nr_wakeups_remote,
           vocabulary::nr_wakeups_sync, vocabulary::nr_wakeups_migrate,
           vocabulary::nr_wakeups_affine, vocabulary::nr_wakeups_affine_attempts,
           vocabulary::nr_forced_migrations, vocabulary::nr_failed_migrations_affine,
           vocabulary::nr_failed_migrations_running, vocabulary::nr_failed_migrations_hot>;
using Statistics = Fields<vocabulary::wait_sum, vocabulary::wait_count, vocabulary::wait_max,
                          vocabulary::voluntary_sleep_ns, vocabulary::sleep_max,
                          vocabulary::block_sum, vocabulary::block_max, vocabulary::iowait_sum,
                          vocabulary::iowait_count, vocabulary::exec_max, vocabulary::slice_max>;
using Forceidle = Fields<vocabulary::core_forceidle_sum>;

class Columns {
 public:
  static constexpr auto kOffers =
      joined(Identity::kOffers, Scheduling::kOffers, Slice::kOffers, Affinity::kOffers,
             Extensible::kOffers, Counters::kOffers, Times::kOffers, Waits::kOffers,
             WaitExtremes::kOffers, Io::kOffers, Memory::kOffers, Delays::kOffers, Copies::kOffers,
             Interrupts::kOffers, DelayExtremes::kOffers, InterruptExtremes::kOffers,
             Wakeups::kOffers, Statistics::kOffers, Forceidle::kOffers);

  explicit Columns(const sdk::Batch& batch);
  void put(std::uint32_t row, const record& task, const Facts& facts);
  // The same reason for all but who the thread is.
  void fail(std::uint32_t row, Gap gap);

 private:
  void put_scheduling(std::uint32_t row, const record& task, const Facts& facts);
  void put_times(std::uint32_t row, const record& task, const Facts& facts);
  void put_delays(std::uint32_t row, const record& task);
  void fail_delays(std::uint32_t row, Gap gap);
  void put_statistics(std::uint32_t row, const record& task);

  Identity identity_;
  Scheduling scheduling_;
  Slice slice_;
  Affinity affinity_;
  Extensible extensible_;
  Counters counters_;
  Times times_;
  Waits waits_;
  WaitExtremes wait_extremes_;
  Io io_;
  Memory memory_;
  Delays delays_;
  Copies copies_;
  Interrupts interrupts_;
  DelayExtremes delay_extremes_;
  InterruptExtremes interrupt_extremes_;
  Wakeups wakeups_;
  Statistics statistics_;
  Forceidle forceidle_;
  std::vector<std::uint64_t> words_;
};

}  // namespace ctprof::task_iter
