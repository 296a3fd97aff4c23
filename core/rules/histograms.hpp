// The rule for histograms, and values that are derived from their buckets.
//
//   const auto parts = rules::histogram_parts(cell);   // of a cell's buckets
//   parts.p99                                          // at most this long, for 99 of 100 values
//
// Each value is the largest one of its bucket, so the real value is at most as large, and at least
// two thirds of it. The last bucket has no largest value; there it is the smallest one.
//
// See also: ctprof/abi/histogram.h for the buckets.

#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "ctprof/abi.h"

namespace ctprof::rules {

bool is_histogram_rule(const ctprof_rule& rule);

// The kinds of the parts, as in MetricDef::map_keys. The unit of percentiles is that of the metric.
inline constexpr std::string_view kHistogramKeys = "gauge: max p50 p99 p99.9; counter count: count";

// One part of a histogram: its name, and its value; no number if the histogram counts no values.
struct HistogramPart {
  std::string_view name;
  ctprof_number number;
};
// In the order of their names.
using HistogramParts = std::array<HistogramPart, 5>;
HistogramParts histogram_parts(std::span<const std::uint64_t> buckets);

// Adds `more` to `buckets`, bucket by bucket; sums stop at 2^64-1. Elements beyond the last bucket
// are added to the last one.
using Buckets = std::array<std::uint64_t, CTPROF_HISTOGRAM_BUCKETS>;
void add_buckets(Buckets& buckets, std::span<const std::uint64_t> more);
// Returns the buckets without zeros at the end.
std::span<const std::uint64_t> trim_buckets(std::span<const std::uint64_t> buckets);

// Returns the buckets of a state. REQUIRES: it belongs to this rule.
std::span<const std::uint64_t> buckets_in(const void* state);

}  // namespace ctprof::rules
