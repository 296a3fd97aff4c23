#include "core/base/number.hpp"

#include <cmath>
#include <limits>

namespace ctprof {
namespace {

bool is_integer(const ctprof_number& number) {
  return number.kind == CTPROF_NUMBER_U64 || number.kind == CTPROF_NUMBER_I64;
}

// A type that holds every integer of both.
__extension__ using Wide = __int128;
Wide widened(const ctprof_number& number) {
  return number.kind == CTPROF_NUMBER_U64 ? Wide{number.u64} : Wide{number.i64};
}

Difference integer(Wide value) {
  const auto magnitude = static_cast<std::uint64_t>(value < 0 ? -value : value);
  const double real = static_cast<double>(magnitude);
  return {Difference::Type::Integer, value < 0, magnitude, value < 0 ? -real : real};
}

Difference real(double value) {
  if (!std::isfinite(value)) return {};
  return {Difference::Type::Real, value < 0, 0, value};
}

template <class Write>
void append(std::string& out, Write write) {
  JsonWriter json(Escape::Unshowable);
  write(json);
  out += json.view();
}

}  // namespace

double as_double(const ctprof_number& number) {
  switch (number.kind) {
    case CTPROF_NUMBER_U64: return static_cast<double>(number.u64);
    case CTPROF_NUMBER_I64: return static_cast<double>(number.i64);
    case CTPROF_NUMBER_F64: return number.f64;
    default: return std::numeric_limits<double>::quiet_NaN();
  }
}

Difference difference(const ctprof_number& baseline, const ctprof_number& candidate) {
  if (is_integer(baseline) && is_integer(candidate))
    return integer(widened(candidate) - widened(baseline));
  return real(as_double(candidate) - as_double(baseline));
}

Difference as_difference(const ctprof_number& number) {
  return is_integer(number) ? integer(widened(number)) : real(as_double(number));
}

ctprof_number as_number(const Difference& difference) {
  if (!difference.known()) return no_number();
  const bool exact =
      difference.type == Difference::Type::Integer &&
      difference.magnitude <= std::uint64_t{std::numeric_limits<std::int64_t>::max()};
  if (!exact) return number_of(difference.real);
  const auto magnitude = static_cast<std::int64_t>(difference.magnitude);
  return number_of(difference.negative ? -magnitude : magnitude);
}

void write_json(const ctprof_number& number, JsonWriter& out) {
  if (number.kind == CTPROF_NUMBER_U64) return out.number(number.u64);
  if (number.kind == CTPROF_NUMBER_I64) return out.number(number.i64);
  write_json(as_double(number), out);
}

void write_json(const Difference& difference, JsonWriter& out) {
  if (difference.type != Difference::Type::Integer)
    return difference.known() ? write_json(difference.real, out) : out.raw("null");
  if (difference.negative) out.put('-');
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
void append_json(std::string& out, std::uint64_t value) {
  append(out, [&](JsonWriter& json) { json.number(value); });
}
void append_made_json(std::string& out, std::string_view json) {
  append(out, [&](JsonWriter& made) { made.made(json); });
}

}  // namespace ctprof
