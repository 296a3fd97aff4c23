// Rules that keep the largest reading of a group, for metrics whose sum would have no meaning.

#include <algorithm>
#include <string>

#include "core/base/number.hpp"
#include "core/rules/rule_book.hpp"

namespace ctprof::rules {
namespace {

template <class T>
struct Largest {
  T value;
  std::uint64_t readings;
};

template <class T>
void take_largest(Largest<T>& largest, T value) {
  largest.value = largest.readings ? std::max(largest.value, value) : value;
  ++largest.readings;
}

template <class T>
void add_as(void* states, const ctprof_rows& rows) {
  for_each_reading<Largest<T>, T>(states, rows, take_largest<T>);
}

void add_largest(void* states, const ctprof_rows* rows) { add_as<std::uint64_t>(states, *rows); }

template <class T>
void merge_largest(void* into, const void* from) {
  auto& largest = *static_cast<Largest<T>*>(into);
  const auto& other = *static_cast<const Largest<T>*>(from);
  if (!other.readings) return;
  const std::uint64_t readings = largest.readings + other.readings;
  take_largest(largest, other.value);
  largest.readings = readings;
}

ctprof_number largest_number(const void* state) {
  const auto& largest = *static_cast<const Largest<std::uint64_t>*>(state);
  return largest.readings ? number_of(largest.value) : no_number();
}

// A peak also keeps the smallest reading above zero: for a metric of shortest durations, zero often
// means that there was no such duration.
struct Peak {
  std::uint64_t value;
  std::uint64_t least;  // above zero; 0: none
  std::uint64_t readings;
};

void take_peak(Peak& peak, std::uint64_t value) {
  peak.value = std::max(peak.value, value);
  if (value > 0 && (peak.least == 0 || value < peak.least)) peak.least = value;
  ++peak.readings;
}

void add_peak(void* states, const ctprof_rows* rows) {
  for_each_reading<Peak, std::uint64_t>(states, *rows, take_peak);
}

void merge_peak(void* into, const void* from) {
  auto& peak = *static_cast<Peak*>(into);
  const auto& other = *static_cast<const Peak*>(from);
  const std::uint64_t readings = peak.readings + other.readings;
  take_peak(peak, other.value);
  if (other.least > 0) take_peak(peak, other.least);
  peak.readings = readings;
}

ctprof_number peak_number(const void* state) {
  const auto& peak = *static_cast<const Peak*>(state);
  return peak.readings ? number_of(peak.value) : no_number();
}

void peak_extras(const void* state, const ctprof_sink* out) {
  const auto& peak = *static_cast<const Peak*>(state);
  put(*out, "\"min_nonzero\":" + (peak.least > 0 ? std::to_string(peak.least) : "null"));
}

// A share is stored in hundredths of a percent.
constexpr double kPerPercent = 100;
ctprof_number ratio_number(const void* state) {
  const auto& largest = *static_cast<const Largest<std::uint64_t>*>(state);
  return largest.readings ? number_of(static_cast<double>(largest.value) / kPerPercent)
                          : no_number();
}

// A position on a signed or unsigned scale: its bits and its signedness.
struct Ordinal {
  std::uint64_t bits;
  std::uint32_t readings;
  bool is_signed;
};

void take_ordinal(Ordinal& largest, std::uint64_t bits, bool is_signed) {
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
      [&](Ordinal& largest, std::uint64_t bits) { take_ordinal(largest, bits, is_signed); });
}

void merge_ordinal(void* into, const void* from) {
  auto& largest = *static_cast<Ordinal*>(into);
  const auto& other = *static_cast<const Ordinal*>(from);
  if (!other.readings) return;
  const std::uint32_t readings = largest.readings + other.readings;
  take_ordinal(largest, other.bits, other.is_signed);
  largest.readings = readings;
}

ctprof_number ordinal_number(const void* state) {
  const auto& largest = *static_cast<const Ordinal*>(state);
  if (!largest.readings) return no_number();
  return largest.is_signed ? number_of(static_cast<std::int64_t>(largest.bits))
                           : number_of(largest.bits);
}

using Flag = Largest<std::uint8_t>;

void add_flag(void* states, const ctprof_rows* rows) { add_as<std::uint8_t>(states, *rows); }

ctprof_number flag_number(const void* state) {
  const auto& any = *static_cast<const Flag*>(state);
  return any.readings ? number_of(std::uint64_t{any.value != 0}) : no_number();
}

void flag_json(const void* state, const ctprof_sink* out) {
  const auto& any = *static_cast<const Flag*>(state);
  put(*out, !any.readings ? "null" : any.value ? "true" : "false");
}

void flag_text(const void* state, const char*, const ctprof_sink* out) {
  const auto& any = *static_cast<const Flag*>(state);
  put(*out, !any.readings ? "-" : any.value ? "true" : "false");
}

constexpr ctprof_rule largest_rule(const char* name, const char* newtypes,
                                   const char* description) {
  ctprof_rule made =
      rule_of<Largest<std::uint64_t>>(name, newtypes, description, CTPROF_REDUCES_BY_MAX,
                                      add_largest, merge_largest<std::uint64_t>);
  made.number = largest_number;
  return made;
}

constexpr ctprof_rule peak() {
  ctprof_rule made = largest_rule("MaxPeak", "PeakNs", "the longest duration");
  made.state_size = sizeof(Peak);
  made.add = add_peak;
  made.merge = merge_peak;
  made.number = peak_number;
  made.extras = peak_extras;
  return made;
}

constexpr ctprof_rule ratio() {
  ctprof_rule made = largest_rule("MaxRatio", "GaugeRatio100", "the largest share, in percent");
  made.number = ratio_number;
  return made;
}

constexpr ctprof_rule ordinal() {
  ctprof_rule made =
      largest_rule("MaxOrdinal", "OrdinalU64,OrdinalI32", "the highest position on a scale");
  made.state_size = sizeof(Ordinal);
  made.add = add_ordinal;
  made.merge = merge_ordinal;
  made.number = ordinal_number;
  return made;
}

constexpr ctprof_rule any_flag() {
  ctprof_rule made = largest_rule("AnyFlag", "Flag", "true if any is true");
  made.reduction = CTPROF_REDUCES_TO_MODE;
  made.state_size = sizeof(Flag);
  made.add = add_flag;
  made.merge = merge_largest<std::uint8_t>;
  made.number = flag_number;
  made.text = flag_text;
  made.json = flag_json;
  return made;
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
