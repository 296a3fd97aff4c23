// Bounds: limits and guarantees that an administrator sets. 2^64-1 says that there is none, prints
// "max", lies above every number, and has no difference to one.

#include <algorithm>
#include <limits>
#include <string>

#include "core/base/json_writer.hpp"
#include "core/base/ladder.hpp"
#include "core/base/number.hpp"
#include "core/rules/builtin.hpp"
#include "core/rules/readings.hpp"

namespace ctprof::rules {
namespace {

constexpr std::uint64_t kUnbounded = std::numeric_limits<std::uint64_t>::max();

struct Bound {
  std::uint64_t value;
  std::uint64_t readings;
};

using Pick = const std::uint64_t& (*)(const std::uint64_t&, const std::uint64_t&);

template <Pick pick>
void take(Bound& bound, std::uint64_t value) {
  bound.value = bound.readings ? pick(bound.value, value) : value;
  ++bound.readings;
}

template <Pick pick>
void add(void* states, const ctprof_rows* rows) {
  for_each_reading<Bound, std::uint64_t>(states, *rows, take<pick>);
}

template <Pick pick>
void merge(void* into, const void* from) {
  auto& bound = *static_cast<Bound*>(into);
  const auto& other = *static_cast<const Bound*>(from);
  if (!other.readings) return;
  const std::uint64_t readings = bound.readings + other.readings;
  take<pick>(bound, other.value);
  bound.readings = readings;
}

const Bound& bound_in(const void* state) { return *static_cast<const Bound*>(state); }
bool is_unbounded(const Bound& bound) { return bound.readings && bound.value == kUnbounded; }

ctprof_number number(const void* state) {
  const Bound& bound = bound_in(state);
  if (!bound.readings) return no_number();
  return is_unbounded(bound) ? number_of(std::numeric_limits<double>::infinity())
                             : number_of(bound.value);
}

ctprof_number delta(const void* baseline, const void* candidate, const ctprof_sink* out) {
  const Bound &a = bound_in(baseline), &b = bound_in(candidate);
  if (!a.readings || !b.readings) return no_number();
  if (is_unbounded(a) || is_unbounded(b)) {
    put(*out, a.value == b.value ? kSame : kDiffers);
    return no_number();
  }
  return as_number(difference(number_of(a.value), number_of(b.value)));
}

void text(const void* state, const char* unit, const ctprof_sink* out) {
  put(*out, scaled(number(state), unit));
}

void json(const void* state, const ctprof_sink* out) {
  if (is_unbounded(bound_in(state))) return put(*out, "\"max\"");
  JsonWriter digits;
  write_json(number(state), digits);
  put(*out, digits.view());
}

template <Pick pick>
constexpr ctprof_rule rule(const char* name, const char* newtypes, const char* description,
                           ctprof_reduction reduction) {
  return {.size = sizeof(ctprof_rule),
          .state_size = sizeof(Bound),
          .name = name,
          .fallback = nullptr,
          .newtypes = newtypes,
          .description = description,
          .init = nullptr,
          .add = add<pick>,
          .merge = merge<pick>,
          .finish = nullptr,
          .destroy = nullptr,
          .number = number,
          .delta = delta,
          .text = text,
          .json = json,
          .extras = nullptr,
          .parts = nullptr,
          .reduction = reduction,
          .reserved = 0};
}

constexpr ctprof_rule kBounds[] = {
    rule<std::max<std::uint64_t>>("LimitMax", "LimitBytes,LimitCount,LimitUs",
                                  "the widest limit; none if any has none", CTPROF_REDUCES_BY_MAX),
    rule<std::min<std::uint64_t>>("FloorMin", "FloorBytes", "the smallest guarantee",
                                  CTPROF_REDUCES_BY_MIN),
};

}  // namespace

std::span<const ctprof_rule> bounds() { return kBounds; }

}  // namespace ctprof::rules
