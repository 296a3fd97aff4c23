// /proc/<tgid>/task/<tid>/sched: a header, then about sixty lines `key   :   value`.
//
// Keys are spelled `se.statistics.wait_sum` (5.10), `stats.wait_sum` or `wait_sum` (newer): what
// follows the last dot counts, save for `ext.enabled`, which is taken whole. Times are
// `milliseconds.nanoseconds`, six digits after the dot. The header holds the thread's name, raw: a
// newline in it can forge a line, so that everything before the line of dashes is passed over.
//
// The file needs CONFIG_SCHED_DEBUG (always there in new kernels); most keys need CONFIG_SCHEDSTATS
// and kernel.sched_schedstats=1.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ctprof/batch.hpp"
#include "plugins/procfs-sched/summary.hpp"
#include "plugins/shared/fields.hpp"
#include "plugins/vocabulary/vocabulary.hpp"

namespace ctprof::procfs {

enum class SchedKey : std::uint8_t {
  NrMigrations,
  Policy,
  Slice,
  ExtEnabled,
  // From here on: only while kernel.sched_schedstats is 1.
  NrWakeups,
  NrWakeupsLocal,
  NrWakeupsRemote,
  NrWakeupsSync,
  NrWakeupsMigrate,
  NrWakeupsAffine,
  NrWakeupsAffineAttempts,
  NrForcedMigrations,
  NrFailedMigrationsAffine,
  NrFailedMigrationsRunning,
  NrFailedMigrationsHot,
  WaitSum,
  WaitCount,
  WaitMax,
  SumSleepRuntime,
  SleepMax,
  SumBlockRuntime,
  BlockMax,
  IowaitSum,
  IowaitCount,
  ExecMax,
  SliceMax,
  CoreForceidleSum,
};
inline constexpr std::size_t kSchedKeys = 27;

constexpr bool needs_schedstats(SchedKey key) { return key >= SchedKey::NrWakeups; }

// What one file says. A key that it has not is SwitchedOff where it depends on the switch, and
// Unsupported where not.
class Sched {
 public:
  Sched();
  const sdk::Reading<std::uint64_t>& operator[](SchedKey key) const {
    return readings_[static_cast<std::size_t>(key)];
  }
  sdk::Reading<std::uint64_t>& operator[](SchedKey key) {
    return readings_[static_cast<std::size_t>(key)];
  }

  // Times that the kernel printed as less than zero; each is kept as zero.
  std::uint32_t negatives = 0;

 private:
  std::array<sdk::Reading<std::uint64_t>, kSchedKeys> readings_;
};

// Times are in nanoseconds. Every key is Malformed when the text has no header.
Sched parse_sched(std::string_view text);

// `ms.frac` in nanoseconds; without a dot the number is taken as it is. Less than zero becomes
// zero, and `negative` true.
sdk::Reading<std::uint64_t> dotted_ns(std::string_view text, bool& negative);

// Uninterruptible sleep is part of all sleep; none of either, no difference.
sdk::Reading<std::uint64_t> voluntary_sleep(const Sched& sched);
// The kernel prints a slice for the policies OTHER, BATCH and EXT only.
sdk::Reading<std::uint64_t> fair_slice(const Sched& sched);
sdk::Reading<bool> ext_enabled(const Sched& sched);

// A metric that is one key's number.
template <const auto& kOf, SchedKey kIs>
struct SchedLine {
  static constexpr const auto& kMetric = kOf;
  static constexpr SchedKey kKey = kIs;
};

template <class... Lines>
struct SchedLines : Fields<Lines::kMetric...> {
  using Base = Fields<Lines::kMetric...>;
  using Base::Base;
  void put(std::uint32_t row, const Sched& sched) { Base::put(row, sched[Lines::kKey]...); }
};

using SchedPlain = SchedLines<SchedLine<vocabulary::nr_migrations, SchedKey::NrMigrations>>;
using SchedStatistics = SchedLines<
    SchedLine<vocabulary::nr_wakeups, SchedKey::NrWakeups>,
    SchedLine<vocabulary::nr_wakeups_local, SchedKey::NrWakeupsLocal>,
    SchedLine<vocabulary::nr_wakeups_remote, SchedKey::NrWakeupsRemote>,
    SchedLine<vocabulary::nr_wakeups_sync, SchedKey::NrWakeupsSync>,
    SchedLine<vocabulary::nr_wakeups_migrate, SchedKey::NrWakeupsMigrate>,
    SchedLine<vocabulary::nr_wakeups_affine, SchedKey::NrWakeupsAffine>,
    SchedLine<vocabulary::nr_wakeups_affine_attempts, SchedKey::NrWakeupsAffineAttempts>,
    SchedLine<vocabulary::nr_forced_migrations, SchedKey::NrForcedMigrations>,
    SchedLine<vocabulary::nr_failed_migrations_affine, SchedKey::NrFailedMigrationsAffine>,
    SchedLine<vocabulary::nr_failed_migrations_running, SchedKey::NrFailedMigrationsRunning>,
    SchedLine<vocabulary::nr_failed_migrations_hot, SchedKey::NrFailedMigrationsHot>,
    SchedLine<vocabulary::wait_sum, SchedKey::WaitSum>,
    SchedLine<vocabulary::wait_count, SchedKey::WaitCount>,
    SchedLine<vocabulary::wait_max, SchedKey::WaitMax>,
    SchedLine<vocabulary::sleep_max, SchedKey::SleepMax>,
    SchedLine<vocabulary::block_sum, SchedKey::SumBlockRuntime>,
    SchedLine<vocabulary::block_max, SchedKey::BlockMax>,
    SchedLine<vocabulary::iowait_sum, SchedKey::IowaitSum>,
    SchedLine<vocabulary::iowait_count, SchedKey::IowaitCount>,
    SchedLine<vocabulary::exec_max, SchedKey::ExecMax>,
    SchedLine<vocabulary::slice_max, SchedKey::SliceMax>,
    SchedLine<vocabulary::core_forceidle_sum, SchedKey::CoreForceidleSum>>;
using SchedComputed =
    Fields<vocabulary::voluntary_sleep_ns, vocabulary::fair_slice_ns, vocabulary::ext_enabled>;

class SchedFile {
 public:
  static constexpr const char* kName = "sched";
  static constexpr Tally kFailures = Tally::Sched;
  static constexpr auto kOffers =
      joined(SchedPlain::kOffers, SchedStatistics::kOffers, SchedComputed::kOffers);

  explicit SchedFile(const sdk::Batch& batch)
      : plain_(batch), statistics_(batch), computed_(batch) {}
  explicit operator bool() const { return plain_ || statistics_ || computed_; }

  void fill(const sdk::Thread& thread, std::string_view text);
  void fail(std::uint32_t row, Gap gap);
  static void refuse(const sdk::Probe& probe, Gap gap, std::string_view reason,
                     const sdk::Remedy& remedy);

  // Times less than zero in all that was filled.
  std::uint64_t negatives() const { return negatives_; }

 private:
  SchedPlain plain_;
  SchedStatistics statistics_;
  SchedComputed computed_;
  std::uint64_t negatives_ = 0;
};

}  // namespace ctprof::procfs
