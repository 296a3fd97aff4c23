// The metrics that a taskstats answer fills, in the order of Field: what the source offers, and the
// columns of a batch.
//
// The last seven are metrics that /proc has as well; the kernel copies both from the same
// variables.

#pragma once

#include <array>
#include <cstdint>

#include "ctprof/batch.hpp"
#include "ctprof/source.hpp"
#include "plugins/taskstats/layout.hpp"
#include "plugins/vocabulary/vocabulary.hpp"

namespace ctprof::taskstats {

template <const auto&... kMetrics>
struct Metrics {
  static_assert(sizeof...(kMetrics) == kFields, "one metric for each field");
  static constexpr auto kOffers = sdk::offers(kMetrics...);

  static std::array<sdk::Column<CTPROF_U64>, kFields> columns(const sdk::Batch& batch) {
    return {batch.column(kMetrics)...};
  }
};

using Offered = Metrics<
    vocabulary::cpu_delay_count, vocabulary::cpu_delay_total_ns, vocabulary::cpu_delay_max_ns,
    vocabulary::cpu_delay_min_ns, vocabulary::blkio_delay_count, vocabulary::blkio_delay_total_ns,
    vocabulary::blkio_delay_max_ns, vocabulary::blkio_delay_min_ns, vocabulary::swapin_delay_count,
    vocabulary::swapin_delay_total_ns, vocabulary::swapin_delay_max_ns,
    vocabulary::swapin_delay_min_ns, vocabulary::freepages_delay_count,
    vocabulary::freepages_delay_total_ns, vocabulary::freepages_delay_max_ns,
    vocabulary::freepages_delay_min_ns, vocabulary::thrashing_delay_count,
    vocabulary::thrashing_delay_total_ns, vocabulary::thrashing_delay_max_ns,
    vocabulary::thrashing_delay_min_ns, vocabulary::compact_delay_count,
    vocabulary::compact_delay_total_ns, vocabulary::compact_delay_max_ns,
    vocabulary::compact_delay_min_ns, vocabulary::wpcopy_delay_count,
    vocabulary::wpcopy_delay_total_ns, vocabulary::wpcopy_delay_max_ns,
    vocabulary::wpcopy_delay_min_ns, vocabulary::irq_delay_count, vocabulary::irq_delay_total_ns,
    vocabulary::irq_delay_max_ns, vocabulary::irq_delay_min_ns, vocabulary::hiwater_rss_bytes,
    vocabulary::hiwater_vm_bytes, vocabulary::run_time_ns, vocabulary::wait_time_ns,
    vocabulary::timeslices, vocabulary::voluntary_csw, vocabulary::nonvoluntary_csw,
    vocabulary::minflt, vocabulary::majflt>;

}  // namespace ctprof::taskstats
