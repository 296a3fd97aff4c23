#include "plugins/outputs/otlp/totals.hpp"

#include <utility>

namespace ctprof::otlp {
namespace {

double as_double(const ctprof_number& number) {
  switch (number.kind) {
    case CTPROF_NUMBER_U64: return static_cast<double>(number.u64);
    case CTPROF_NUMBER_I64: return static_cast<double>(number.i64);
    default: return number.f64;
  }
}

ctprof_number add_numbers(const ctprof_number& a, const ctprof_number& b) {
  ctprof_number sum{};
  if (a.kind == CTPROF_NUMBER_U64 && b.kind == CTPROF_NUMBER_U64 &&
      !__builtin_add_overflow(a.u64, b.u64, &sum.u64)) {
    sum.kind = CTPROF_NUMBER_U64;
    return sum;
  }
  sum.kind = CTPROF_NUMBER_F64;
  sum.f64 = as_double(a) + as_double(b);
  return sum;
}

}  // namespace

void Totals::begin(const ctprof_output_window& window) {
  previous_ = std::exchange(current_, {});
  if (window.dropped_before > 0) previous_.clear();
  // The wall clock may have been set meanwhile, but a start is never after its end.
  window_start_ns_ = window.end_ns - window.length_ns;
}

Total Totals::add(const std::string& series, const ctprof_number& increase) {
  const auto known = previous_.find(series);
  Total total{window_start_ns_, increase};
  if (known != previous_.end())
    total = {known->second.start_ns, add_numbers(known->second.value, increase)};
  current_[series] = total;
  return total;
}

}  // namespace ctprof::otlp
