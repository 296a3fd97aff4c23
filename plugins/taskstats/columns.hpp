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
constexpr std::string_view newtype_of(ValueKind figure) {
  constexpr std::array<std::string_view, 5> kNewtypes{"MonotonicCount", "MonotonicNs", "PeakNs",
                                                      "PeakBytes", "Bytes"};
  return kNewtypes[static_cast<std::size_t>(figure)];
}

// One line: the metric, and the field that fills it.
template <const auto& kMetricReference, Field kFromField>
struct MetricField {
  static constexpr const auto& kMetric = kMetricReference;
  static constexpr Field kField = kFromField;
  static_assert(std::remove_cvref_t<decltype(kMetricReference)>::Newtype::kName.view() ==
                    newtype_of(kFieldInfos[index_of(kFromField)].kind),
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
  struct SelectedColumn {
    Field field;
    sdk::Column<CTPROF_U64> column;
  };
  static std::vector<SelectedColumn> select_columns(const sdk::Batch& batch) {
    std::vector<SelectedColumn> cells;
    const auto add = [&](Field field, const sdk::Column<CTPROF_U64>& column) {
      if (column) cells.push_back({field, column});
    };
    (add(Lines::kField, batch.column(Lines::kMetric)), ...);
    return cells;
  }
};

template <class... ExtraLines>
using MetricsWith =
    Metrics<MetricField<vocabulary::cpu_delay_count, Field::CpuCount>,
            MetricField<vocabulary::cpu_delay_total_ns, Field::CpuTotal>,
            MetricField<vocabulary::cpu_delay_max_ns, Field::CpuMax>,
            MetricField<vocabulary::cpu_delay_min_ns, Field::CpuMin>,
            MetricField<vocabulary::blkio_delay_count, Field::BlkioCount>,
            MetricField<vocabulary::blkio_delay_total_ns, Field::BlkioTotal>,
            MetricField<vocabulary::blkio_delay_max_ns, Field::BlkioMax>,
            MetricField<vocabulary::blkio_delay_min_ns, Field::BlkioMin>,
            MetricField<vocabulary::swapin_delay_count, Field::SwapinCount>,
            MetricField<vocabulary::swapin_delay_total_ns, Field::SwapinTotal>,
            MetricField<vocabulary::swapin_delay_max_ns, Field::SwapinMax>,
            MetricField<vocabulary::swapin_delay_min_ns, Field::SwapinMin>,
            MetricField<vocabulary::freepages_delay_count, Field::FreepagesCount>,
            MetricField<vocabulary::freepages_delay_total_ns, Field::FreepagesTotal>,
            MetricField<vocabulary::freepages_delay_max_ns, Field::FreepagesMax>,
            MetricField<vocabulary::freepages_delay_min_ns, Field::FreepagesMin>,
            MetricField<vocabulary::thrashing_delay_count, Field::ThrashingCount>,
            MetricField<vocabulary::thrashing_delay_total_ns, Field::ThrashingTotal>,
            MetricField<vocabulary::thrashing_delay_max_ns, Field::ThrashingMax>,
            MetricField<vocabulary::thrashing_delay_min_ns, Field::ThrashingMin>,
            MetricField<vocabulary::compact_delay_count, Field::CompactCount>,
            MetricField<vocabulary::compact_delay_total_ns, Field::CompactTotal>,
            MetricField<vocabulary::compact_delay_max_ns, Field::CompactMax>,
            MetricField<vocabulary::compact_delay_min_ns, Field::CompactMin>,
            MetricField<vocabulary::wpcopy_delay_count, Field::WpcopyCount>,
            MetricField<vocabulary::wpcopy_delay_total_ns, Field::WpcopyTotal>,
            MetricField<vocabulary::wpcopy_delay_max_ns, Field::WpcopyMax>,
            MetricField<vocabulary::wpcopy_delay_min_ns, Field::WpcopyMin>,
            MetricField<vocabulary::irq_delay_count, Field::IrqCount>,
            MetricField<vocabulary::irq_delay_total_ns, Field::IrqTotal>,
            MetricField<vocabulary::irq_delay_max_ns, Field::IrqMax>,
            MetricField<vocabulary::irq_delay_min_ns, Field::IrqMin>,
            MetricField<vocabulary::hiwater_rss_bytes, Field::HiwaterRss>,
            MetricField<vocabulary::hiwater_vm_bytes, Field::HiwaterVm>,
            MetricField<vocabulary::run_time_ns, Field::CpuRunVirtual>,
            MetricField<vocabulary::wait_time_ns, Field::RunDelay>,
            MetricField<vocabulary::timeslices, Field::Pcount>,
            MetricField<vocabulary::voluntary_csw, Field::VoluntaryCsw>,
            MetricField<vocabulary::nonvoluntary_csw, Field::InvoluntaryCsw>,
            MetricField<vocabulary::minflt, Field::MinorFaults>,
            MetricField<vocabulary::majflt, Field::MajorFaults>, ExtraLines...>;

// Metrics of living threads.
using LivingThreadMetrics = MetricsWith<>;
static_assert(LivingThreadMetrics::kOffers.size() == kExactFields, "one metric for each field");

// Metrics of exited threads. The I/O counters are included because they have no other source.
using ExitedThreadMetrics =
    MetricsWith<MetricField<vocabulary::rchar, Field::ReadChars>,
                MetricField<vocabulary::wchar, Field::WriteChars>,
                MetricField<vocabulary::read_bytes, Field::ReadBytes>,
                MetricField<vocabulary::write_bytes, Field::WriteBytes>,
                MetricField<vocabulary::cancelled_write_bytes, Field::CancelledWriteBytes>>;
static_assert(ExitedThreadMetrics::kOffers.size() == kFields, "one metric for each field");

}  // namespace ctprof::taskstats
