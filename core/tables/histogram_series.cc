#include "core/tables/histogram_series.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "core/base/clock.hpp"
#include "ctprof/abi.h"

namespace ctprof {
namespace {

// The exponents of the limits.
struct LimitRange {
  std::uint32_t first, last;
};
constexpr LimitRange kTimes{10, 37}, kNumbers{1, 19};

// Returns the limit as Go prints it, which readers of OpenMetrics require: "1.023e-06", "3.0".
std::string format_limit(std::uint64_t limit, bool is_time) {
  if (!is_time) return std::to_string(limit) + ".0";
  char text[32];
  const auto end =
      std::to_chars(text, text + sizeof text, static_cast<double>(limit) / kNsPerSecond).ptr;
  return {text, end};
}

double sum_of(std::span<const std::uint64_t> buckets) {
  return std::accumulate(buckets.begin(), buckets.end(), 0.0);
}

std::string_view describe_period(CounterForm counted) {
  switch (counted) {
    case CounterForm::Lifetime: return " of living threads, since they started";
    case CounterForm::PerSecond: return ", in the window";
    case CounterForm::Total: break;
  }
  return ", since this server was started";
}

}  // namespace

SeriesFamily make_histogram_family(std::string_view metric, std::string_view unit,
                                   CounterForm counted, double user_hz) {
  const bool is_lifetime = counted == CounterForm::Lifetime;
  SeriesFamily family = make_family(metric, unit, is_lifetime, counted, user_hz).family;
  family.type = counted == CounterForm::Total ? SeriesType::Histogram : SeriesType::GaugeHistogram;
  family.help = std::string(metric) + std::string(describe_period(counted)) + "; see ctprof help " +
                std::string(metric);
  return family;
}

std::vector<CumulativeBucket> make_cumulative_buckets(std::span<const std::uint64_t> buckets,
                                                      std::string_view unit) {
  const bool is_time = unit == "ns";
  const LimitRange range = is_time ? kTimes : kNumbers;
  std::vector<CumulativeBucket> cumulative;
  for (std::uint32_t exponent = range.first; exponent <= range.last; ++exponent) {
    const std::uint64_t next = std::uint64_t{1} << exponent;
    const std::size_t below = std::min<std::size_t>(ctprof_histogram_bucket(next), buckets.size());
    cumulative.push_back({format_limit(next - 1, is_time), sum_of(buckets.first(below))});
  }
  cumulative.push_back({"+Inf", sum_of(buckets)});
  return cumulative;
}

}  // namespace ctprof
