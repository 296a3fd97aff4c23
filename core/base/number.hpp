// Numbers that rules return: none, exact integers, or doubles; their differences; and both as text.
//
// In text for users, a number is scaled to its unit: "1.234ms" or "7.500GiB". A value in its base
// unit is exact; a scaled one has three decimals. The scale is chosen after rounding, so that
// "1000.000ms" never appears. Each text ends with its unit, without a space.
//
// See also: render/ (colours, columns).

#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "core/base/json_writer.hpp"
#include "ctprof/abi.h"

namespace ctprof {

// The missing value of a double.
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

inline ctprof_number no_number() { return {}; }
inline ctprof_number make_number(std::uint64_t value) {
  ctprof_number number{};
  number.kind = CTPROF_NUMBER_U64;
  number.u64 = value;
  return number;
}
inline ctprof_number make_number(std::int64_t value) {
  ctprof_number number{};
  number.kind = CTPROF_NUMBER_I64;
  number.i64 = value;
  return number;
}
inline ctprof_number make_number(double value) {
  ctprof_number number{};
  number.kind = CTPROF_NUMBER_F64;
  number.f64 = value;
  return number;
}

inline bool has_value(const ctprof_number& number) { return number.kind != CTPROF_NUMBER_NONE; }
// Returns the number as a double; NaN for none.
double as_double(const ctprof_number& number);

// The difference of two numbers. That of two u64 needs 65 bits, so sign and magnitude are separate.
struct Difference {
  enum class Type { None, Integer, Real };
  Type type = Type::None;
  bool is_negative = false;
  std::uint64_t magnitude = 0;  // of an integer
  double real = 0;              // the nearest double

  bool is_known() const { return type != Type::None; }
  bool is_zero() const { return type == Type::Integer ? magnitude == 0 : real == 0; }
};

// Returns `candidate` minus `baseline`: exact if both are integers, none if either is none or not
// finite.
Difference difference(const ctprof_number& baseline, const ctprof_number& candidate);
// Converts a difference that a rule computed.
Difference as_difference(const ctprof_number& number);
// Converts a difference to a number: exact if it fits, otherwise the nearest double.
ctprof_number as_number(const Difference& difference);

// Writes JSON: integers in full, doubles in their shortest exact form, null for none and for values
// that JSON cannot represent.
void write_json(const ctprof_number& number, JsonWriter& out);
void write_json(const Difference& difference, JsonWriter& out);
void write_json(double value, JsonWriter& out);

// Append JSON to a string, escaped for terminals (Escape::Unprintable).
void append_json(std::string& out, std::string_view text);
void append_json(std::string& out, const ctprof_number& number);
void append_json(std::string& out, const Difference& difference);
void append_json(std::string& out, double value);
void append_json(std::string& out, std::uint64_t value);

// Appends existing JSON. REQUIRES: valid JSON without blanks outside strings.
void append_existing_json(std::string& out, std::string_view json);

// Returns "1.234ms", "22ticks", "12.34%", "0.500" for a ratio; "-" for none.
std::string format_scaled(const ctprof_number& number, std::string_view unit);
// Same, always with a sign: "+5ns", "-92.457K"; "-" for none.
std::string format_scaled(const Difference& difference, std::string_view unit);
// Returns at most three digits, with one decimal, or two for a scaled number: "376", "46.7", "0.3",
// "1.23K", "12.3Mi", "0"; "-" for NaN.
std::string format_brief(double value, std::string_view unit);
// Same for several numbers in the scale of the largest: "0.05→12.3Mi". Equal texts are written
// once.
std::string format_brief_steps(std::span<const double> values, std::string_view unit);
// Returns the value with this number of decimals: "12.30".
std::string format_fixed(double value, int decimals);
// Returns a figure of the host with one decimal if it is below 10, otherwise without: "7.3", "12",
// "0".
std::string format_short(double figure);
// Returns "12.3 s".
std::string format_seconds(std::uint64_t ns);
// Formats a count that can be a median, and so can end in .5: "3", "2.5".
std::string format_decimal_count(double count);
// Formats a fraction in percent with a sign: "+1063.1%"; "-" for NaN.
std::string format_percent(double fraction);

}  // namespace ctprof
