// Fractions: gauges with a decimal point, added up, the largest of them, or their mean.
//
// One state serves all three. A reading that is no number (NaN) or has no end counts nowhere; the
// capture has made it Malformed before (capture/source_run.cc).

#include <algorithm>
#include <cmath>

#include "core/base/number.hpp"
#include "core/rules/builtin.hpp"
#include "core/rules/readings.hpp"

namespace ctprof::rules {
namespace {

struct Fractions {
  double sum;
  double largest;
  std::uint64_t readings;
};

void take(Fractions& all, double sum, double largest, std::uint64_t readings) {
  all.largest = all.readings > 0 ? std::max(all.largest, largest) : largest;
  all.sum += sum;
  all.readings += readings;
}

void add(void* states, const ctprof_rows* rows) {
  for_each_reading<Fractions, double>(states, *rows, [](Fractions& all, double value) {
    if (std::isfinite(value)) take(all, value, value, 1);
  });
}

void merge(void* into, const void* from) {
  const auto& other = *static_cast<const Fractions*>(from);
  if (other.readings > 0)
    take(*static_cast<Fractions*>(into), other.sum, other.largest, other.readings);
}

ctprof_number sum(const void* state) {
  const auto& all = *static_cast<const Fractions*>(state);
  return all.readings > 0 ? number_of(all.sum) : no_number();
}

ctprof_number largest(const void* state) {
  const auto& all = *static_cast<const Fractions*>(state);
  return all.readings > 0 ? number_of(all.largest) : no_number();
}

ctprof_number mean(const void* state) {
  const auto& all = *static_cast<const Fractions*>(state);
  return all.readings > 0 ? number_of(all.sum / static_cast<double>(all.readings)) : no_number();
}

constexpr ctprof_rule rule(const char* name, const char* description,
                           ctprof_number (*number)(const void* state), ctprof_reduction reduction) {
  return {.size = sizeof(ctprof_rule),
          .state_size = sizeof(Fractions),
          .name = name,
          .fallback = nullptr,
          .newtypes = "GaugeF64",
          .description = description,
          .init = nullptr,
          .add = add,
          .merge = merge,
          .finish = nullptr,
          .destroy = nullptr,
          .number = number,
          .delta = nullptr,
          .text = nullptr,
          .json = nullptr,
          .extras = nullptr,
          .parts = nullptr,
          .reduction = reduction};
}

constexpr ctprof_rule kFractions[] = {
    rule("SumGaugeF64", "adds up what there is now", sum, CTPROF_REDUCES_BY_SUM),
    rule("MaxGaugeF64", "the largest now", largest, CTPROF_REDUCES_BY_MAX),
    rule("MeanGaugeF64", "the mean now", mean, CTPROF_REDUCES_OTHERWISE),
};

}  // namespace

std::span<const ctprof_rule> fractions() { return kFractions; }

}  // namespace ctprof::rules
