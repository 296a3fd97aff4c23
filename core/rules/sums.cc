// Rules for sums: the value of a group is the sum over its threads. Also rules for gauges of type
// double: sum, maximum and mean.
//
// A sum of integers stops at 2^64-1 instead of wrapping around. A saturated sum is printed as a
// lower bound: "≥18446744073.710s".

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/number.hpp"
#include "core/rules/rule_set.hpp"

namespace ctprof::rules {
namespace {

struct Sum {
  std::uint64_t total;
  std::uint64_t readings;
};

void add_value(Sum& sum, std::uint64_t value) {
  if (__builtin_add_overflow(sum.total, value, &sum.total))
    sum.total = std::numeric_limits<std::uint64_t>::max();
  ++sum.readings;
}

void add_sum(void* states, const ctprof_rows* rows) {
  for_each_reading<Sum, std::uint64_t>(states, *rows, add_value);
}

void merge_sum(void* into, const void* from) {
  auto& sum = *static_cast<Sum*>(into);
  const auto& other = *static_cast<const Sum*>(from);
  const std::uint64_t readings = sum.readings + other.readings;
  add_value(sum, other.total);
  sum.readings = readings;
}

ctprof_number sum_number(const void* state) {
  const auto& sum = *static_cast<const Sum*>(state);
  return sum.readings ? make_number(sum.total) : no_number();
}

bool is_saturated(const Sum& sum) {
  return sum.readings && sum.total == std::numeric_limits<std::uint64_t>::max();
}

const Sum& sum_in(const void* state) { return *static_cast<const Sum*>(state); }

void sum_text(const void* state, const char* unit, const ctprof_sink* out) {
  put(*out, (is_saturated(sum_in(state)) ? "≥" : "") + format_scaled(sum_number(state), unit));
}

constexpr ctprof_rule sum_rule(const char* name, const char* newtypes, const char* description) {
  ctprof_rule rule =
      make_rule<Sum>(name, newtypes, description, CTPROF_REDUCES_BY_SUM, add_sum, merge_sum);
  rule.number = sum_number;
  rule.text = sum_text;
  return rule;
}

constexpr ctprof_rule kSums[] = {
    sum_rule("SumCount", "MonotonicCount", "adds up events"),
    sum_rule("SumNs", "MonotonicNs", "adds up nanoseconds"),
    sum_rule("SumUs", "MonotonicUs", "adds up microseconds"),
    sum_rule("SumTicks", "ClockTicks", "adds up ticks"),
    sum_rule("SumBytes", "Bytes", "adds up bytes"),
    sum_rule("SumGaugeCount", "GaugeCount", "adds up current values"),
    sum_rule("SumGaugeBytes", "GaugeBytes", "adds up current sizes"),
};

// Gauges of type double: one state serves sum, maximum and mean. NaN and infinite readings are not
// counted; the capture has already marked them as Malformed (capture/source_run.cc).
struct FractionState {
  double sum;
  double largest;
  std::uint64_t readings;
};

void update_fractions(FractionState& all, double sum, double largest, std::uint64_t readings) {
  all.largest = all.readings > 0 ? std::max(all.largest, largest) : largest;
  all.sum += sum;
  all.readings += readings;
}

void add_fractions(void* states, const ctprof_rows* rows) {
  for_each_reading<FractionState, double>(states, *rows, [](FractionState& all, double value) {
    if (std::isfinite(value)) update_fractions(all, value, value, 1);
  });
}

void merge_fractions(void* into, const void* from) {
  const auto& other = *static_cast<const FractionState*>(from);
  if (other.readings > 0)
    update_fractions(*static_cast<FractionState*>(into), other.sum, other.largest, other.readings);
}

ctprof_number sum_of_fractions(const void* state) {
  const auto& all = *static_cast<const FractionState*>(state);
  return all.readings > 0 ? make_number(all.sum) : no_number();
}

ctprof_number largest_fraction(const void* state) {
  const auto& all = *static_cast<const FractionState*>(state);
  return all.readings > 0 ? make_number(all.largest) : no_number();
}

ctprof_number mean_of_fractions(const void* state) {
  const auto& all = *static_cast<const FractionState*>(state);
  return all.readings > 0 ? make_number(all.sum / static_cast<double>(all.readings)) : no_number();
}

constexpr ctprof_rule fraction_rule(const char* name, const char* description,
                                    decltype(ctprof_rule::number) number,
                                    ctprof_reduction reduction) {
  ctprof_rule rule = make_rule<FractionState>(name, "GaugeF64", description, reduction,
                                              add_fractions, merge_fractions);
  rule.number = number;
  return rule;
}

constexpr ctprof_rule kFractions[] = {
    fraction_rule("SumGaugeF64", "adds up current values", sum_of_fractions, CTPROF_REDUCES_BY_SUM),
    fraction_rule("MaxGaugeF64", "the largest current value", largest_fraction,
                  CTPROF_REDUCES_BY_MAX),
    fraction_rule("MeanGaugeF64", "the mean of current values", mean_of_fractions,
                  CTPROF_REDUCES_OTHERWISE),
};

}  // namespace

std::span<const ctprof_rule> sums() { return kSums; }
std::span<const ctprof_rule> fractions() { return kFractions; }

}  // namespace ctprof::rules
