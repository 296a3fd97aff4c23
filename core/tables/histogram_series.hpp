// Makes the family of a histogram for Prometheus: cumulative buckets with the label `le`.
//
//   cpu_wait_histogram_ns, of a window   ctprof_cpu_wait_histogram_seconds_bucket{le="0.001048575"}
//
// The limits are fixed, so that series of several scrapes and groups can be added: every power of
// two minus 1, from 2^10 to 2^37 ns (1 us to 137 s), otherwise from 2 to 2^19. So there are half as
// many buckets as in ctprof (ctprof/abi/histogram.h). There is no sum of the values, because it is
// unknown: the buckets only bound it. exposition.hpp adds the count in the text format.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tables/metric_family.hpp"

namespace ctprof {

inline constexpr const char* kLimitLabel = "le";

// Names the family. A histogram since the start of a server is a counter; another one is a gauge.
SeriesFamily make_histogram_family(std::string_view metric, std::string_view unit,
                                   CounterForm counted, double user_hz);

// The number of values up to a limit.
struct CumulativeBucket {
  std::string limit;  // the value of the label
  double count = 0;
};
// In ascending order; the last limit is "+Inf".
std::vector<CumulativeBucket> make_cumulative_buckets(std::span<const std::uint64_t> buckets,
                                                      std::string_view unit);

}  // namespace ctprof
