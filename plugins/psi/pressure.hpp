// Parses pressure files, and declares the columns that they fill, for the host and for a cgroup.
//
// A file has a line `some` and a line `full`, each `avg10=0.12 avg60=0.00 avg300=0.00 total=345`.
// Averages are in percent with two decimals, and are stored in hundredths of a percent; totals are
// in microseconds. Before Linux 5.13 the CPU has no line `full`; interrupts have only this line.
//
// See also: psi.cc for the reasons why a file is missing.

#pragma once

#include <cstdint>
#include <string_view>

#include "ctprof/fields.hpp"
#include "ctprof/gap.hpp"
#include "ctprof/metric.hpp"
#include "ctprof/table.hpp"
#include "plugins/vocabulary/vocabulary.hpp"

namespace ctprof::psi {

// One line. All values of a missing line are Unsupported; a value that is missing from its line, or
// is not a number, is Malformed.
struct PressureLine {
  sdk::ReadingOf<sdk::GaugeRatio100> avg10 = Gap::Unsupported;
  sdk::ReadingOf<sdk::GaugeRatio100> avg60 = Gap::Unsupported;
  sdk::ReadingOf<sdk::GaugeRatio100> avg300 = Gap::Unsupported;
  sdk::ReadingOf<sdk::MonotonicUs> total_usec = Gap::Unsupported;
};

struct Pressure {
  PressureLine some;
  PressureLine full;
};

Pressure parse_pressure(std::string_view text);

// Parses "12.3" as 1230 hundredths; further digits are cut off. Also returns Malformed if the
// result does not fit into the 16 bits that a file has for it.
sdk::ReadingOf<sdk::GaugeRatio100> parse_hundredths(std::string_view text);

// The columns of one line.
template <const auto& kAvg10, const auto& kAvg60, const auto& kAvg300, const auto& kTotal>
using LineFields =
    sdk::Table<sdk::Fill<kAvg10, &PressureLine::avg10>, sdk::Fill<kAvg60, &PressureLine::avg60>,
               sdk::Fill<kAvg300, &PressureLine::avg300>,
               sdk::Fill<kTotal, &PressureLine::total_usec>>;

// Whether a file has a line `some`. Interrupts delay whatever is running, so for them `some` would
// equal `full`.
enum class Lines { SomeAndFull, OnlyFull };

// The columns of one file, with both of its names: <cgroup>/cpu.pressure and /proc/pressure/cpu.
template <sdk::Name kCgroup, sdk::Name kHost, class Some, class Full,
          Lines kLines = Lines::SomeAndFull>
class PressureFile {
 public:
  static constexpr const char* kCgroupName = kCgroup.text;
  static constexpr const char* kHostName = kHost.text;
  static constexpr auto kOffers = sdk::joined(Some::kOffers, Full::kOffers);
  using FullFields = Full;

  explicit PressureFile(const sdk::Batch& batch) : some_(batch), full_(batch) {}
  explicit operator bool() const { return some_ || full_; }

  void fill(std::uint32_t row, std::string_view text) {
    const Pressure pressure = parse_pressure(text);
    full_.put(row, pressure.full);
    kLines == Lines::SomeAndFull ? some_.put(row, pressure.some)
                                 : some_.fail(row, Gap::NotApplicable);
  }
  void fail(std::uint32_t row, Gap gap) {
    full_.fail(row, gap);
    some_.fail(row, kLines == Lines::SomeAndFull ? gap : Gap::NotApplicable);
  }
  static void refuse(const sdk::Probe& probe, Gap gap, std::string_view reason,
                     const sdk::Remedy& remedy) {
    Full::refuse(probe, gap, reason, remedy);
    if (kLines == Lines::SomeAndFull) Some::refuse(probe, gap, reason, remedy);
  }
  static void refuse_nonexistent_line(const sdk::Probe& probe) {
    if (kLines == Lines::OnlyFull)
      Some::refuse(probe, Gap::NotApplicable,
                   "no kernel reports it: interrupts have only a line `full`");
  }

 private:
  Some some_;
  Full full_;
};

#define CTPROF_PSI_LINE(which)                                                                 \
  LineFields<vocabulary::which##_avg10, vocabulary::which##_avg60, vocabulary::which##_avg300, \
             vocabulary::which##_total_usec>
#define CTPROF_PSI_FILE(entity, resource, ...)                  \
  PressureFile<#resource ".pressure", "pressure/" #resource,    \
               CTPROF_PSI_LINE(entity##_psi_##resource##_some), \
               CTPROF_PSI_LINE(entity##_psi_##resource##_full) __VA_OPT__(, ) __VA_ARGS__>
#define CTPROF_PSI_FILES(entity)                                             \
  sdk::Groups<CTPROF_PSI_FILE(entity, cpu), CTPROF_PSI_FILE(entity, memory), \
              CTPROF_PSI_FILE(entity, io), CTPROF_PSI_FILE(entity, irq, Lines::OnlyFull)>

using CgroupFiles = CTPROF_PSI_FILES(cgroup);
using HostFiles = CTPROF_PSI_FILES(host);

#undef CTPROF_PSI_FILES
#undef CTPROF_PSI_FILE
#undef CTPROF_PSI_LINE

static_assert(CgroupFiles::kOffers.size() + HostFiles::kOffers.size() ==
                  vocabulary::kPsiMetrics.size(),
              "every metric of the plugin has a file");

}  // namespace ctprof::psi
