// Parses /proc/<tgid>/task/<tid>/sched: a header, then about sixty lines `key   :   value`.
//
// Keys are spelled `se.statistics.wait_sum` (5.10), `stats.wait_sum` or `wait_sum` (newer): only
// the part after the last dot is used, except for `ext.enabled`, which is used as a whole. Times
// are `milliseconds.nanoseconds`, with six digits after the dot. The header contains the thread's
// name without escapes. A newline in it can forge a line, so everything before the line of dashes
// is skipped.
//
// The file needs CONFIG_SCHED_DEBUG (always present in new kernels); most keys need
// CONFIG_SCHEDSTATS and kernel.sched_schedstats=1.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "ctprof/fields.hpp"
#include "ctprof/table.hpp"
#include "plugins/procfs-sched/summary.hpp"
#include "plugins/vocabulary/vocabulary.hpp"

namespace ctprof::procfs {

// How a value is printed: as a plain number, or as milliseconds with nanoseconds after a dot.
enum class NumberFormat : std::uint8_t { Plain, Dotted };

// A key, spelled as after the last dot, and its metric. To read another key, add a line below.
template <const auto& kMetric, sdk::Name kKeyText, NumberFormat kPrintFormat = NumberFormat::Plain>
struct SchedKey : sdk::Fields<kMetric> {
  using sdk::Fields<kMetric>::Fields;
  using Newtype = typename std::remove_cvref_t<decltype(kMetric)>::Newtype;
  static constexpr sdk::Name kKey = kKeyText;
  static constexpr NumberFormat kNumber = kPrintFormat;
};

template <class... Keys>
struct SchedKeys : sdk::Groups<Keys...> {
  using sdk::Groups<Keys...>::Groups;
  template <class Values>
  void put(std::uint32_t row, const Values& sched) {
    (this->template get<Keys>().put(
         row, sdk::ReadingOf<typename Keys::Newtype>(sched.template key<Keys::kKey>())),
     ...);
  }
};

using SchedPlain = SchedKeys<SchedKey<vocabulary::nr_migrations, "nr_migrations">>;

// Keys that exist while kernel.sched_schedstats is 1.
using SchedStatistics =
    SchedKeys<SchedKey<vocabulary::nr_wakeups, "nr_wakeups">,
              SchedKey<vocabulary::nr_wakeups_local, "nr_wakeups_local">,
              SchedKey<vocabulary::nr_wakeups_remote, "nr_wakeups_remote">,
              SchedKey<vocabulary::nr_wakeups_sync, "nr_wakeups_sync">,
              SchedKey<vocabulary::nr_wakeups_migrate, "nr_wakeups_migrate">,
              SchedKey<vocabulary::nr_wakeups_affine, "nr_wakeups_affine">,
              SchedKey<vocabulary::nr_wakeups_affine_attempts, "nr_wakeups_affine_attempts">,
              SchedKey<vocabulary::nr_forced_migrations, "nr_forced_migrations">,
              SchedKey<vocabulary::nr_failed_migrations_affine, "nr_failed_migrations_affine">,
              SchedKey<vocabulary::nr_failed_migrations_running, "nr_failed_migrations_running">,
              SchedKey<vocabulary::nr_failed_migrations_hot, "nr_failed_migrations_hot">,
              SchedKey<vocabulary::wait_sum, "wait_sum", NumberFormat::Dotted>,
              SchedKey<vocabulary::wait_count, "wait_count">,
              SchedKey<vocabulary::wait_max, "wait_max", NumberFormat::Dotted>,
              SchedKey<vocabulary::sleep_max, "sleep_max", NumberFormat::Dotted>,
              SchedKey<vocabulary::block_sum, "sum_block_runtime", NumberFormat::Dotted>,
              SchedKey<vocabulary::block_max, "block_max", NumberFormat::Dotted>,
              SchedKey<vocabulary::iowait_sum, "iowait_sum", NumberFormat::Dotted>,
              SchedKey<vocabulary::iowait_count, "iowait_count">,
              SchedKey<vocabulary::exec_max, "exec_max", NumberFormat::Dotted>,
              SchedKey<vocabulary::slice_max, "slice_max", NumberFormat::Dotted>,
              SchedKey<vocabulary::core_forceidle_sum, "core_forceidle_sum", NumberFormat::Dotted>>;

// A key of the file, and whether it depends on the switch.
struct SchedKeyInfo {
  std::string_view text;
  NumberFormat format;
  bool needs_schedstats;
};

template <class... Keys>
constexpr auto key_infos_of(SchedKeys<Keys...>*, bool needs_schedstats) {
  return std::array{SchedKeyInfo{Keys::kKey.view(), Keys::kNumber, needs_schedstats}...};
}

// All keys that are read: those of columns, and those from which other columns are computed.
inline constexpr auto kSchedKeys = [] {
  constexpr auto kPlain = key_infos_of(static_cast<SchedPlain*>(nullptr), false);
  constexpr auto kStatistics = key_infos_of(static_cast<SchedStatistics*>(nullptr), true);
  constexpr std::array kInputsOfComputed{
      SchedKeyInfo{"policy", NumberFormat::Plain, false},
      SchedKeyInfo{"slice", NumberFormat::Plain, false},
      SchedKeyInfo{"ext.enabled", NumberFormat::Plain, false},
      SchedKeyInfo{"sum_sleep_runtime", NumberFormat::Dotted, true}};
  std::array<SchedKeyInfo, kPlain.size() + kStatistics.size() + kInputsOfComputed.size()> all{};
  auto next = std::copy(kPlain.begin(), kPlain.end(), all.begin());
  next = std::copy(kStatistics.begin(), kStatistics.end(), next);
  std::copy(kInputsOfComputed.begin(), kInputsOfComputed.end(), next);
  return all;
}();

// The values of one file. A missing key is SwitchedOff if it depends on the switch, and Unsupported
// otherwise.
class Sched {
 public:
  Sched();

  // Access by position in kSchedKeys, and by the text of a key in kSchedKeys.
  const sdk::Reading<std::uint64_t>& operator[](std::size_t at) const { return readings_[at]; }
  sdk::Reading<std::uint64_t>& operator[](std::size_t at) { return readings_[at]; }
  template <sdk::Name kKey>
  const sdk::Reading<std::uint64_t>& key() const {
    constexpr std::size_t kPosition = find_position(kKey.view());
    static_assert(kPosition < kSchedKeys.size(), "no such key is read");
    return readings_[kPosition];
  }

  // Number of times that the kernel printed as less than zero; each is stored as zero.
  std::uint32_t negative_times = 0;

 private:
  static constexpr std::size_t find_position(std::string_view text) {
    std::size_t position = 0;
    while (position < kSchedKeys.size() && kSchedKeys[position].text != text) ++position;
    return position;
  }

  std::array<sdk::Reading<std::uint64_t>, kSchedKeys.size()> readings_;
};

// Returns times in nanoseconds. Every key is Malformed if the text has no header.
Sched parse_sched(std::string_view text);

// Returns `ms.frac` in nanoseconds; a number without a dot is returned unchanged. A negative time
// becomes zero, and sets `is_negative`.
sdk::Reading<std::uint64_t> parse_dotted_ns(std::string_view text, bool& is_negative);

// Returns total sleep minus uninterruptible sleep; a gap if either is missing.
sdk::ReadingOf<sdk::MonotonicNs> compute_voluntary_sleep(const Sched& sched);
// The kernel prints a slice for the policies OTHER, BATCH and EXT only.
sdk::ReadingOf<sdk::GaugeNs> read_fair_slice(const Sched& sched);
sdk::ReadingOf<sdk::Flag> read_ext_enabled(const Sched& sched);

using SchedComputed = sdk::Table<sdk::Fill<vocabulary::voluntary_sleep_ns, compute_voluntary_sleep>,
                                 sdk::Fill<vocabulary::fair_slice_ns, read_fair_slice>,
                                 sdk::Fill<vocabulary::ext_enabled, read_ext_enabled>>;

class SchedFile : public sdk::Groups<SchedPlain, SchedStatistics, SchedComputed> {
 public:
  using Groups::Groups;
  static constexpr const char* kName = "sched";
  static constexpr Tally kFailures = Tally::Sched;

  void fill(const sdk::Thread& thread, std::string_view text);

  // Number of negative times in all files so far.
  std::uint64_t negative_times() const { return negative_times_; }

 private:
  std::uint64_t negative_times_ = 0;
};

}  // namespace ctprof::procfs
