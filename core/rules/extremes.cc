// Rules that keep the largest reading of a group, for metrics whose sum would have no meaning.

#include <algorithm>
#include <string>

#include "core/base/number.hpp"
#include "core/rules/rule_set.hpp"

namespace ctprof::rules {
namespace {

template <class T>
struct Largest {
  T value;
  std::uint64_t readings;
};

template <class T>
void update_largest(Largest<T>& largest, T value) {
  largest.value = largest.readings ? std::max(largest.value, value) : value;
  ++largest.readings;
}

template <class T>
void add_readings(void* states, const ctprof_rows& rows) {
  for_each_reading<Largest<T>, T>(states, rows, update_largest<T>);
}

void add_largest(void* states, const ctprof_rows* rows) {
  add_readings<std::uint64_t>(states, *rows);
}

template <class T>
void merge_largest(void* into, const void* from) {
  auto& largest = *static_cast<Largest<T>*>(into);
  const auto& other = *static_cast<const Largest<T>*>(from);
  if (!other.readings) return;
  const std::uint64_t readings = largest.readings + other.readings;
  update_largest(largest, other.value);
  largest.readings = readings;
}

ctprof_number largest_number(const void* state) {
  const auto& largest = *static_cast<const Largest<std::uint64_t>*>(state);
  return largest.readings ? make_number(largest.value) : no_number();
}

// A peak also keeps the smallest reading above zero: for a metric of shortest durations, zero often
// means that there was no such duration.
struct Peak {
  std::uint64_t value;
  std::uint64_t min_nonzero;  // above zero; 0: none
  std::uint64_t readings;
};

void update_peak(Peak& peak, std::uint64_t value) {
  peak.value = std::max(peak.value, value);
  if (value > 0 && (peak.min_nonzero == 0 || value < peak.min_nonzero)) peak.min_nonzero = value;
  ++peak.readings;
}

void add_peak(void* states, const ctprof_rows* rows) {
  for_each_reading<Peak, std::uint64_t>(states, *rows, update_peak);
}

void merge_peak(void* into, const void* from) {
  auto& peak = *static_cast<Peak*>(into);
  const auto& other = *static_cast<const Peak*>(from);
  const std::uint64_t readings = peak.readings + other.readings;
  update_peak(peak, other.value);
  if (other.min_nonzero > 0) update_peak(peak, other.min_nonzero);
  peak.readings = readings;
}

ctprof_number peak_number(const void* state) {
  const auto& peak = *static_cast<const Peak*>(state);
  return peak.readings ? make_number(peak.value) : no_number();
}

void peak_extras(const void* state, const ctprof_sink* out) {
  const auto& peak = *static_cast<const Peak*>(state);
  put(*out,
      "\"min_nonzero\":" + (peak.min_nonzero > 0 ? std::to_string(peak.min_nonzero) : "null"));
}

// A share is stored in hundredths of a percent.
constexpr double kPerPercent = 100;
ctprof_number ratio_number(const void* state) {
  const auto& largest = *static_cast<const Largest<std::uint64_t>*>(state);
  return largest.readings ? make_number(static_cast<double>(largest.value) / kPerPercent)
                          : no_number();
}

// A position on a signed or unsigned scale: its bits and its signedness.
struct Ordinal {
  std::uint64_t bits;
  std::uint32_t readings;
  bool is_signed;
};

void update_ordinal(Ordinal& largest, std::uint64_t bits, bool is_signed) {
  const bool above = is_signed
                         ? static_cast<std::int64_t>(bits) > static_cast<std::int64_t>(largest.bits)
                         : bits > largest.bits;
  if (!largest.readings || above) largest.bits = bits;
  largest.is_signed = is_signed;
  ++largest.readings;
}

void add_ordinal(void* states, const ctprof_rows* rows) {
  const bool is_signed = rows->storage == CTPROF_I64;
  for_each_reading<Ordinal, std::uint64_t>(
      states, *rows,
      [&](Ordinal& largest, std::uint64_t bits) { update_ordinal(largest, bits, is_signed); });
}

void merge_ordinal(void* into, const void* from) {
  auto& largest = *static_cast<Ordinal*>(into);
  const auto& other = *static_cast<const Ordinal*>(from);
  if (!other.readings) return;
  const std::uint32_t readings = largest.readings + other.readings;
  update_ordinal(largest, other.bits, other.is_signed);
  largest.readings = readings;
}

ctprof_number ordinal_number(const void* state) {
  const auto& largest = *static_cast<const Ordinal*>(state);
  if (!largest.readings) return no_number();
  return largest.is_signed ? make_number(static_cast<std::int64_t>(largest.bits))
                           : make_number(largest.bits);
}

using Flag = Largest<std::uint8_t>;

void add_flag(void* states, const ctprof_rows* rows) { add_readings<std::uint8_t>(states, *rows); }

ctprof_number flag_number(const void* state) {
  const auto& flag = *static_cast<const Flag*>(state);
  return flag.readings ? make_number(std::uint64_t{flag.value != 0}) : no_number();
}

void flag_json(const void* state, const ctprof_sink* out) {
  const auto& flag = *static_cast<const Flag*>(state);
  put(*out, !flag.readings ? "null" : flag.value ? "true" : "false");
}

void flag_text(const void* state, const char*, const ctprof_sink* out) {
  const auto& flag = *static_cast<const Flag*>(state);
  put(*out, !flag.readings ? "-" : flag.value ? "true" : "false");
}

constexpr ctprof_rule largest_rule(const char* name, const char* newtypes,
                                   const char* description) {
  ctprof_rule rule =
      make_rule<Largest<std::uint64_t>>(name, newtypes, description, CTPROF_REDUCES_BY_MAX,
                                        add_largest, merge_largest<std::uint64_t>);
  rule.number = largest_number;
  return rule;
}

constexpr ctprof_rule peak() {
  ctprof_rule rule = largest_rule("MaxPeak", "PeakNs", "the longest duration");
  rule.state_size = sizeof(Peak);
  rule.add = add_peak;
  rule.merge = merge_peak;
  rule.number = peak_number;
  rule.extras = peak_extras;
  return rule;
}

constexpr ctprof_rule ratio() {
  ctprof_rule rule = largest_rule("MaxRatio", "GaugeRatio100", "the largest share, in percent");
  rule.number = ratio_number;
  return rule;
}

constexpr ctprof_rule ordinal() {
  ctprof_rule rule =
      largest_rule("MaxOrdinal", "OrdinalU64,OrdinalI32", "the highest position on a scale");
  rule.state_size = sizeof(Ordinal);
  rule.add = add_ordinal;
  rule.merge = merge_ordinal;
  rule.number = ordinal_number;
  return rule;
}

constexpr ctprof_rule any_flag() {
  ctprof_rule rule = largest_rule("AnyFlag", "Flag", "true if any is true");
  rule.reduction = CTPROF_REDUCES_TO_MODE;
  rule.state_size = sizeof(Flag);
  rule.add = add_flag;
  rule.merge = merge_largest<std::uint8_t>;
  rule.number = flag_number;
  rule.text = flag_text;
  rule.json = flag_json;
  return rule;
}

constexpr ctprof_rule kExtremes[] = {
    peak(),
    largest_rule("MaxPeakBytes", "PeakBytes", "the largest peak in bytes"),
    largest_rule("MaxPeakCount", "PeakCount", "the largest peak"),
    largest_rule("MaxGaugeNs", "GaugeNs", "the largest current duration"),
    largest_rule("MaxGaugeCount", "GaugeCount", "the largest current number"),
    largest_rule("MaxGaugeBytes", "GaugeBytes", "the largest current size"),
    ratio(),
    ordinal(),
    any_flag(),
};

}  // namespace

std::span<const ctprof_rule> extremes() { return kExtremes; }

}  // namespace ctprof::rules
