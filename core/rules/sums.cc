// Sums: what happened to the group is what happened to its threads, added up. A sum stops at 2^64-1
// rather than start again, and says so: a full sum is a lower bound, "≥18446744073.710s".

#include <limits>

#include "core/base/ladder.hpp"
#include "core/base/number.hpp"
#include "core/rules/builtin.hpp"
#include "core/rules/readings.hpp"

namespace ctprof::rules {
namespace {

struct Sum {
  std::uint64_t total;
  std::uint64_t readings;
};

void add_one(Sum& sum, std::uint64_t value) {
  if (__builtin_add_overflow(sum.total, value, &sum.total))
    sum.total = std::numeric_limits<std::uint64_t>::max();
  ++sum.readings;
}

void add(void* states, const ctprof_rows* rows) {
  for_each_reading<Sum, std::uint64_t>(states, *rows, add_one);
}

void merge(void* into, const void* from) {
  auto& sum = *static_cast<Sum*>(into);
  const auto& other = *static_cast<const Sum*>(from);
  const std::uint64_t readings = sum.readings + other.readings;
  add_one(sum, other.total);
  sum.readings = readings;
}

ctprof_number number(const void* state) {
  const auto& sum = *static_cast<const Sum*>(state);
  return sum.readings ? number_of(sum.total) : no_number();
}

bool is_full(const Sum& sum) {
  return sum.readings && sum.total == std::numeric_limits<std::uint64_t>::max();
}

const Sum& sum_in(const void* state) { return *static_cast<const Sum*>(state); }

void text(const void* state, const char* unit, const ctprof_sink* out) {
  put(*out, (is_full(sum_in(state)) ? "≥" : "") + scaled(number(state), unit));
}

constexpr ctprof_rule rule(const char* name, const char* newtypes, const char* description) {
  return {.size = sizeof(ctprof_rule),
          .state_size = sizeof(Sum),
          .name = name,
          .fallback = nullptr,
          .newtypes = newtypes,
          .description = description,
          .init = nullptr,
          .add = add,
          .merge = merge,
          .finish = nullptr,
          .destroy = nullptr,
          .number = number,
          .delta = nullptr,
          .text = text,
          .json = nullptr,
          .extras = nullptr,
          .parts = nullptr,
          .reduction = CTPROF_REDUCES_BY_SUM,
          .reserved = 0};
}

constexpr ctprof_rule kSums[] = {
    rule("SumCount", "MonotonicCount", "adds up events"),
    rule("SumNs", "MonotonicNs", "adds up nanoseconds"),
    rule("SumUs", "MonotonicUs", "adds up microseconds"),
    rule("SumTicks", "ClockTicks", "adds up ticks"),
    rule("SumBytes", "Bytes", "adds up bytes"),
    rule("SumGaugeCount", "GaugeCount", "adds up what there is now"),
    rule("SumGaugeBytes", "GaugeBytes", "adds up the sizes now"),
};

}  // namespace

std::span<const ctprof_rule> sums() { return kSums; }

}  // namespace ctprof::rules
