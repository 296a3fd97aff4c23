// Maps metrics to the fields of a taskstats answer: the offers of the source, and the columns of a
// batch.
//
// The last seven metrics are also in /proc; the kernel copies both from the same variables.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ctprof/batch.hpp"
#include "ctprof/source.hpp"
#include "ctprof/table.hpp"
#include "plugins/taskstats/decode.hpp"
#include "plugins/vocabulary/vocabulary.hpp"

namespace ctprof::taskstats {

// Returns the newtype of the metrics of each kind of value.
constexpr std::string_view newtype_of(Figure figure) {
  constexpr std::array<std::string_view, 5> kNewtypes{"MonotonicCount", "MonotonicNs", "PeakNs",
                                                      "PeakBytes", "Bytes"};
  return kNewtypes[static_cast<std::size_t>(figure)];
}

// One line: the metric, and the field that fills it.
template <const auto& kOf, Field kFrom>
struct Line {
  static constexpr const auto& kMetric = kOf;
  static constexpr Field kField = kFrom;
  static_assert(std::remove_cvref_t<decltype(kOf)>::Newtype::kName.view() ==
                    newtype_of(kFieldInfos[index_of(kFrom)].figure),
                CTPROF_SAYS_OTHER_NEWTYPE);
};

template <class... Lines>
struct Metrics {
  // The offers of the first fields, one each, in the order of Field regardless of the order of the
  // lines.
  static constexpr auto kOffers = [] {
    sdk::Offers<sizeof...(Lines)> offers{};
    ((offers[index_of(Lines::kField)] = Lines::kMetric.abi), ...);
    return offers;
  }();
  static_assert(std::all_of(kOffers.begin(), kOffers.end(),
                            [](const ctprof_metric& metric) { return metric.name != nullptr; }),
                "two metrics from one field");

  // A selected column of a batch, with its field.
  struct Cells {
    Field field;
    sdk::Column<CTPROF_U64> column;
  };
  static std::vector<Cells> wanted(const sdk::Batch& batch) {
    std::vector<Cells> cells;
    const auto add = [&](Field field, const sdk::Column<CTPROF_U64>& column) {
      if (column) cells.push_back({field, column});
    };
    (add(Lines::kField, batch.column(Lines::kMetric)), ...);
    return cells;
  }
};

template <class... More>
using MetricsAnd = Metrics<Line<vocabulary::cpu_delay_count, Field::CpuCount>,
                           Line<vocabulary::cpu_delay_total_ns, Field::CpuTotal>,
                           Line<vocabulary::cpu_delay_max_ns, Field::CpuMax>,
                           Line<vocabulary::cpu_delay_min_ns, Field::CpuMin>,
                           Line<vocabulary::blkio_delay_count, Field::BlkioCount>,
                           Line<vocabulary::blkio_delay_total_ns, Field::BlkioTotal>,
                           Line<vocabulary::blkio_delay_max_ns, Field::BlkioMax>,
                           Line<vocabulary::blkio_delay_min_ns, Field::BlkioMin>,
                           Line<vocabulary::swapin_delay_count, Field::SwapinCount>,
                           Line<vocabulary::swapin_delay_total_ns, Field::SwapinTotal>,
                           Line<vocabulary::swapin_delay_max_ns, Field::SwapinMax>,
                           Line<vocabulary::swapin_delay_min_ns, Field::SwapinMin>,
                           Line<vocabulary::freepages_delay_count, Field::FreepagesCount>,
                           Line<vocabulary::freepages_delay_total_ns, Field::FreepagesTotal>,
                           Line<vocabulary::freepages_delay_max_ns, Field::FreepagesMax>,
                           Line<vocabulary::freepages_delay_min_ns, Field::FreepagesMin>,
                           Line<vocabulary::thrashing_delay_count, Field::ThrashingCount>,
                           Line<vocabulary::thrashing_delay_total_ns, Field::ThrashingTotal>,
                           Line<vocabulary::thrashing_delay_max_ns, Field::ThrashingMax>,
                           Line<vocabulary::thrashing_delay_min_ns, Field::ThrashingMin>,
                           Line<vocabulary::compact_delay_count, Field::CompactCount>,
                           Line<vocabulary::compact_delay_total_ns, Field::CompactTotal>,
                           Line<vocabulary::compact_delay_max_ns, Field::CompactMax>,
                           Line<vocabulary::compact_delay_min_ns, Field::CompactMin>,
                           Line<vocabulary::wpcopy_delay_count, Field::WpcopyCount>,
                           Line<vocabulary::wpcopy_delay_total_ns, Field::WpcopyTotal>,
                           Line<vocabulary::wpcopy_delay_max_ns, Field::WpcopyMax>,
                           Line<vocabulary::wpcopy_delay_min_ns, Field::WpcopyMin>,
                           Line<vocabulary::irq_delay_count, Field::IrqCount>,
                           Line<vocabulary::irq_delay_total_ns, Field::IrqTotal>,
                           Line<vocabulary::irq_delay_max_ns, Field::IrqMax>,
                           Line<vocabulary::irq_delay_min_ns, Field::IrqMin>,
                           Line<vocabulary::hiwater_rss_bytes, Field::HiwaterRss>,
                           Line<vocabulary::hiwater_vm_bytes, Field::HiwaterVm>,
                           Line<vocabulary::run_time_ns, Field::CpuRunVirtual>,
                           Line<vocabulary::wait_time_ns, Field::RunDelay>,
                           Line<vocabulary::timeslices, Field::Pcount>,
                           Line<vocabulary::voluntary_csw, Field::VoluntaryCsw>,
                           Line<vocabulary::nonvoluntary_csw, Field::InvoluntaryCsw>,
                           Line<vocabulary::minflt, Field::MinorFaults>,
                           Line<vocabulary::majflt, Field::MajorFaults>, More...>;

// Metrics of living threads.
using Offered = MetricsAnd<>;
static_assert(Offered::kOffers.size() == kExactFields, "one metric for each field");

// Metrics of exited threads. The I/O counters are included because they have no other source.
using OfferedOfEnded =
    MetricsAnd<Line<vocabulary::rchar, Field::ReadChars>,
               Line<vocabulary::wchar, Field::WriteChars>,
               Line<vocabulary::read_bytes, Field::ReadBytes>,
               Line<vocabulary::write_bytes, Field::WriteBytes>,
               Line<vocabulary::cancelled_write_bytes, Field::CancelledWriteBytes>>;
static_assert(OfferedOfEnded::kOffers.size() == kFields, "one metric for each field");

}  // namespace ctprof::taskstats
