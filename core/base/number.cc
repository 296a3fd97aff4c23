#include "core/base/number.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <span>
#include <vector>

namespace ctprof {
namespace {

bool is_integer(const ctprof_number& number) {
  return number.kind == CTPROF_NUMBER_U64 || number.kind == CTPROF_NUMBER_I64;
}

// A type that holds every u64 and i64.
__extension__ using Wide = __int128;
Wide widen(const ctprof_number& number) {
  return number.kind == CTPROF_NUMBER_U64 ? Wide{number.u64} : Wide{number.i64};
}

Difference integer_difference(Wide value) {
  const auto magnitude = static_cast<std::uint64_t>(value < 0 ? -value : value);
  const double real = static_cast<double>(magnitude);
  return {Difference::Type::Integer, value < 0, magnitude, value < 0 ? -real : real};
}

Difference real_difference(double value) {
  if (!std::isfinite(value)) return {};
  return {Difference::Type::Real, value < 0, 0, value};
}

template <class Write>
void append(std::string& out, Write write) {
  JsonWriter json(Escape::Unprintable);
  write(json);
  out += json.view();
}

}  // namespace

double as_double(const ctprof_number& number) {
  switch (number.kind) {
    case CTPROF_NUMBER_U64: return static_cast<double>(number.u64);
    case CTPROF_NUMBER_I64: return static_cast<double>(number.i64);
    case CTPROF_NUMBER_F64: return number.f64;
    default: return kNaN;
  }
}

Difference difference(const ctprof_number& baseline, const ctprof_number& candidate) {
  if (is_integer(baseline) && is_integer(candidate))
    return integer_difference(widen(candidate) - widen(baseline));
  return real_difference(as_double(candidate) - as_double(baseline));
}

Difference as_difference(const ctprof_number& number) {
  return is_integer(number) ? integer_difference(widen(number))
                            : real_difference(as_double(number));
}

ctprof_number as_number(const Difference& difference) {
  if (!difference.is_known()) return no_number();
  const bool is_exact =
      difference.type == Difference::Type::Integer &&
      difference.magnitude <= std::uint64_t{std::numeric_limits<std::int64_t>::max()};
  if (!is_exact) return make_number(difference.real);
  const auto magnitude = static_cast<std::int64_t>(difference.magnitude);
  return make_number(difference.is_negative ? -magnitude : magnitude);
}

void write_json(const ctprof_number& number, JsonWriter& out) {
  if (number.kind == CTPROF_NUMBER_U64) return out.number(number.u64);
  if (number.kind == CTPROF_NUMBER_I64) return out.number(number.i64);
  write_json(as_double(number), out);
}

void write_json(const Difference& difference, JsonWriter& out) {
  if (difference.type != Difference::Type::Integer)
    return difference.is_known() ? write_json(difference.real, out) : out.raw("null");
  if (difference.is_negative) out.put('-');
  out.number(difference.magnitude);
}

void write_json(double value, JsonWriter& out) {
  if (!std::isfinite(value)) return out.raw("null");
  out.number(value == 0 ? 0.0 : value);  // no "-0"
}

void append_json(std::string& out, std::string_view text) {
  append(out, [&](JsonWriter& json) { json.text(text); });
}
void append_json(std::string& out, const ctprof_number& number) {
  append(out, [&](JsonWriter& json) { write_json(number, json); });
}
void append_json(std::string& out, const Difference& difference) {
  append(out, [&](JsonWriter& json) { write_json(difference, json); });
}
void append_json(std::string& out, double value) {
  append(out, [&](JsonWriter& json) { write_json(value, json); });
}
std::string format_decimal_count(double count) {
  std::string text;
  append_json(text, count);
  return text;
}
void append_json(std::string& out, std::uint64_t value) {
  append(out, [&](JsonWriter& json) { json.number(value); });
}
void append_existing_json(std::string& out, std::string_view json) {
  append(out, [&](JsonWriter& writer) { writer.embed(json); });
}

std::string format_fixed(double value, int decimals) {
  std::array<char, 400> digits;  // the largest double has 309 digits before the point
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                 std::chars_format::fixed, decimals)
                       .ptr;
  return {digits.data(), end};
}

std::string format_short(double figure) {
  const double rounded = std::round(figure * 10) / 10;
  return format_fixed(rounded + 0.0, rounded != 0 && rounded < 10 ? 1 : 0);
}

std::string format_seconds(std::uint64_t ns) {
  return format_fixed(static_cast<double>(ns) / 1e9, 1) + " s";
}

namespace {

struct Scale {
  double size;  // of one step, in base units
  std::string_view text;
};

constexpr Scale kNs[] = {{1, "ns"}, {1e3, "µs"}, {1e6, "ms"}, {1e9, "s"}};
constexpr Scale kUs[] = {{1, "µs"}, {1e3, "ms"}, {1e6, "s"}};
constexpr Scale kBytes[] = {
    {1, "B"}, {0x1p10, "KiB"}, {0x1p20, "MiB"}, {0x1p30, "GiB"}, {0x1p40, "TiB"}};
constexpr Scale kKib[] = {{1, "KiB"}, {0x1p10, "MiB"}, {0x1p20, "GiB"}, {0x1p30, "TiB"}};
constexpr Scale kTicks[] = {{1, "ticks"}, {1e3, "Kticks"}, {1e6, "Mticks"}};
constexpr Scale kCount[] = {{1, ""}, {1e3, "K"}, {1e6, "M"}, {1e9, "G"}};
constexpr Scale kUnscaled[] = {{1, ""}};

struct UnitScales {
  std::string_view unit;
  std::span<const Scale> scales;
};
constexpr UnitScales kUnitScales[] = {{"ns", kNs},   {"us", kUs},       {"bytes", kBytes},
                                      {"kib", kKib}, {"ticks", kTicks}, {"count", kCount}};

std::span<const Scale> scales_of(std::string_view unit) {
  for (const UnitScales& unit_scales : kUnitScales)
    if (unit_scales.unit == unit) return unit_scales.scales;
  return kUnscaled;
}

// Both are in percent here: a snapshot stores hundredths, and the rule divides them.
bool is_percent(std::string_view unit) { return unit == "percent" || unit == "centipercent"; }

constexpr int kScaledDecimals = 3;

// Returns whether the value, rounded as in `scale`, belongs to the next scale.
bool reaches_next_scale(double value, const Scale& scale, const Scale& next, int decimals) {
  const double rounded = std::strtod(format_fixed(value / scale.size, decimals).c_str(), nullptr);
  return rounded * scale.size >= next.size;
}

std::size_t find_scale(double value, std::span<const Scale> scales, int base_decimals) {
  std::size_t index = 0;
  while (index + 1 < scales.size() && value >= scales[index + 1].size) ++index;
  if (index + 1 == scales.size()) return index;
  return reaches_next_scale(value, scales[index], scales[index + 1],
                            index == 0 ? base_decimals : kScaledDecimals)
             ? index + 1
             : index;
}

std::string format_in_scale(double magnitude, const Scale& scale, int decimals) {
  return format_fixed(magnitude / scale.size, decimals) + std::string(scale.text);
}

// Returns "<0.01" instead of zero for a value that is too small for the last decimal place.
std::string format_fixed_or_less(double value, int decimals, std::string_view last_place) {
  const std::string text = format_fixed(value, decimals);
  const bool is_zero = text.find_first_not_of("0.") == text.npos;
  return is_zero && value > 0 ? "<" + std::string(last_place) : text;
}

// `exact`: the integer value of the magnitude, or null.
std::string format_magnitude(double magnitude, const std::uint64_t* exact, std::string_view unit,
                             int base_decimals) {
  if (is_percent(unit)) return format_fixed_or_less(magnitude, 2, "0.01") + "%";
  if (unit == "ratio") return format_fixed_or_less(magnitude, kScaledDecimals, "0.001");
  const auto scales = scales_of(unit);
  const std::size_t index = find_scale(magnitude, scales, base_decimals);
  if (index > 0) return format_in_scale(magnitude, scales[index], kScaledDecimals);
  if (exact) return std::to_string(*exact) + std::string(scales[0].text);
  return format_in_scale(magnitude, scales[0], base_decimals);
}

// Unscaled numbers have as many decimals as they need: the middle of a range is "1.5".
std::string format_unscaled(double magnitude) {
  std::array<char, 400> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), magnitude,
                                 std::chars_format::fixed)
                       .ptr;
  return {digits.data(), end};
}

bool is_unscaled(std::string_view unit) {
  return !is_percent(unit) && unit != "ratio" && scales_of(unit).data() == kUnscaled;
}

std::string format_real(double magnitude, std::string_view unit) {
  return is_unscaled(unit) ? format_unscaled(magnitude)
                           : format_magnitude(magnitude, nullptr, unit, 2);
}

// Formats the difference of two middles of ranges: "5", or "0.500".
std::string format_real_difference(double magnitude, std::string_view unit) {
  const bool has_fraction = magnitude != std::floor(magnitude);
  return is_unscaled(unit) && has_fraction ? format_fixed(magnitude, kScaledDecimals)
                                           : format_real(magnitude, unit);
}

}  // namespace

std::string format_scaled(const ctprof_number& number, std::string_view unit) {
  if (number.kind == CTPROF_NUMBER_U64)
    return format_magnitude(static_cast<double>(number.u64), &number.u64, unit, 0);
  if (number.kind == CTPROF_NUMBER_I64) {
    const Difference from_zero = difference(make_number(std::int64_t{0}), number);
    const double magnitude = static_cast<double>(from_zero.magnitude);
    return (from_zero.is_negative ? "-" : "") +
           format_magnitude(magnitude, &from_zero.magnitude, unit, 0);
  }
  const double value = as_double(number);
  if (std::isnan(value)) return "-";
  if (std::isinf(value)) return value < 0 ? "-inf" : "max";
  return (value < 0 ? "-" : "") + format_real(std::fabs(value), unit);
}

std::string format_scaled(const Difference& difference, std::string_view unit) {
  if (!difference.is_known()) return "-";
  const std::string sign = difference.is_negative ? "-" : "+";
  if (difference.type == Difference::Type::Real)
    return sign + format_real_difference(std::fabs(difference.real), unit);
  return sign + format_magnitude(static_cast<double>(difference.magnitude), &difference.magnitude,
                                 unit, 0);
}

namespace {

// Returns the number of decimals for three digits.
int brief_decimals(double magnitude, bool is_scaled) {
  if (magnitude >= 99.95) return 0;
  return magnitude >= 9.995 || !is_scaled ? 1 : 2;
}

// Returns the scale with at most three digits before the point.
std::size_t find_brief_scale(double magnitude, std::span<const Scale> scales) {
  std::size_t index = 0;
  while (index + 1 < scales.size() && magnitude / scales[index].size >= 999.5) ++index;
  return index;
}

// Shortens "MiB" to "Mi".
std::string brief_unit(const Scale& scale) {
  std::string_view text = scale.text;
  if (text.ends_with("iB")) text.remove_suffix(1);
  return std::string(text);
}

std::string format_brief_in(double value, const Scale& scale) {
  if (value == 0) return "0";
  const double magnitude = std::fabs(value) / scale.size;
  return (value < 0 ? "-" : "") +
         format_fixed(magnitude, brief_decimals(magnitude, scale.size > 1));
}

}  // namespace

std::string format_brief(double value, std::string_view unit) {
  return format_brief_steps({&value, 1}, unit);
}

std::string format_brief_steps(std::span<const double> values, std::string_view unit) {
  double largest = 0;
  for (const double value : values)
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  const auto scales = scales_of(unit);
  const Scale& scale = scales[find_brief_scale(largest, scales)];
  std::vector<std::string> steps;
  for (const double value : values)
    steps.push_back(std::isfinite(value) ? format_brief_in(value, scale) : "-");
  if (std::ranges::all_of(steps, [&](const std::string& step) { return step == steps[0]; }))
    steps.resize(1);
  // The last number gets the unit.
  for (auto step = steps.rbegin(); largest > 0 && step != steps.rend(); ++step)
    if (*step != "-") {
      *step += brief_unit(scale);
      break;
    }
  std::string text;
  for (const std::string& step : steps) text += (text.empty() ? "" : "→") + step;
  return text;
}

std::string format_percent(double fraction) {
  if (!std::isfinite(fraction)) return "-";
  return (fraction < 0 ? "-" : "+") + format_fixed(std::fabs(fraction) * 100, 1) + "%";
}

}  // namespace ctprof
