// Rules for ranges and bounds: numbers whose sum would have no meaning.
//
// For positions on a scale (a priority, a CPU), the value of a group is the range from the smallest
// to the largest. For limits it is the largest limit, for guarantees the smallest.

#include <algorithm>
#include <limits>
#include <string>

#include "core/base/json_writer.hpp"
#include "core/base/number.hpp"
#include "core/rules/rule_set.hpp"

namespace ctprof::rules {
namespace {

// The smallest and the largest value. One function updates both, so they are always in order.
template <class T>
class Range {
 public:
  void include(T value) {
    low_ = has_value_ ? std::min(low_, value) : value;
    high_ = has_value_ ? std::max(high_, value) : value;
    has_value_ = true;
  }
  void include(const Range& other) {
    if (!other.has_value_) return;
    include(other.low_);
    include(other.high_);
  }
  bool has_value() const { return has_value_; }
  T low() const { return low_; }
  T high() const { return high_; }
  bool operator==(const Range&) const = default;

 private:
  T low_, high_;  // states are created zeroed
  bool has_value_;
};

template <class T>
const Range<T>& range_in(const void* state) {
  return *static_cast<const Range<T>*>(state);
}

template <class T>
void add_range(void* states, const ctprof_rows* rows) {
  for_each_reading<Range<T>, T>(states, *rows,
                                [](Range<T>& range, T value) { range.include(value); });
}

template <class T>
void merge_range(void* into, const void* from) {
  static_cast<Range<T>*>(into)->include(range_in<T>(from));
}

template <class T>
ctprof_number range_number(const void* state) {
  const auto& range = range_in<T>(state);
  if (!range.has_value()) return no_number();
  if (range.low() == range.high()) return make_number(range.low());
  return make_number((static_cast<double>(range.low()) + static_cast<double>(range.high())) / 2);
}

// Returns the difference of the midpoints. Ranges with equal midpoints can differ, so the rule
// reports this in addition to a zero.
template <class T>
ctprof_number range_delta(const void* baseline, const void* candidate, const ctprof_sink* out) {
  const auto &a = range_in<T>(baseline), &b = range_in<T>(candidate);
  if (!a.has_value() || !b.has_value()) return no_number();
  const Difference between = difference(range_number<T>(baseline), range_number<T>(candidate));
  if (between.is_zero()) put(*out, a == b ? kSame : kDiffers);
  return as_number(between);
}

template <class T>
void range_text(const void* state, const char*, const ctprof_sink* out) {
  const auto& range = range_in<T>(state);
  if (!range.has_value()) return put(*out, "-");
  put(*out, std::to_string(range.low()));
  if (range.low() != range.high()) put(*out, ".." + std::to_string(range.high()));
}

template <class T>
void range_json(const void* state, const ctprof_sink* out) {
  const auto& range = range_in<T>(state);
  if (!range.has_value()) return put(*out, "null");
  put(*out,
      "{\"min\":" + std::to_string(range.low()) + ",\"max\":" + std::to_string(range.high()) + "}");
}

template <class T>
constexpr ctprof_rule range_rule(const char* name, const char* newtypes) {
  ctprof_rule rule = make_rule<Range<T>>(name, newtypes, "smallest and largest",
                                         CTPROF_REDUCES_TO_RANGE, add_range<T>, merge_range<T>);
  rule.number = range_number<T>;
  rule.delta = range_delta<T>;
  rule.text = range_text<T>;
  rule.json = range_json<T>;
  return rule;
}

constexpr ctprof_rule kRanges[] = {
    range_rule<std::int64_t>("RangeI32", "OrdinalI32"),
    range_rule<std::uint64_t>("RangeU32", "OrdinalU32"),
    range_rule<std::uint64_t>("RangeU64", "OrdinalU64"),
};

// A limit or guarantee that an administrator sets. 2^64-1 means unlimited: it is printed as "max",
// is larger than every number, and has no difference to a number.
constexpr std::uint64_t kUnbounded = std::numeric_limits<std::uint64_t>::max();

struct Bound {
  std::uint64_t value;
  std::uint64_t readings;
};

using Selector = const std::uint64_t& (*)(const std::uint64_t&, const std::uint64_t&);

template <Selector pick>
void update_bound(Bound& bound, std::uint64_t value) {
  bound.value = bound.readings ? pick(bound.value, value) : value;
  ++bound.readings;
}

template <Selector pick>
void add_bound(void* states, const ctprof_rows* rows) {
  for_each_reading<Bound, std::uint64_t>(states, *rows, update_bound<pick>);
}

template <Selector pick>
void merge_bound(void* into, const void* from) {
  auto& bound = *static_cast<Bound*>(into);
  const auto& other = *static_cast<const Bound*>(from);
  if (!other.readings) return;
  const std::uint64_t readings = bound.readings + other.readings;
  update_bound<pick>(bound, other.value);
  bound.readings = readings;
}

const Bound& bound_in(const void* state) { return *static_cast<const Bound*>(state); }
bool is_unbounded(const Bound& bound) { return bound.readings && bound.value == kUnbounded; }

ctprof_number bound_number(const void* state) {
  const Bound& bound = bound_in(state);
  if (!bound.readings) return no_number();
  return is_unbounded(bound) ? make_number(std::numeric_limits<double>::infinity())
                             : make_number(bound.value);
}

ctprof_number bound_delta(const void* baseline, const void* candidate, const ctprof_sink* out) {
  const Bound &a = bound_in(baseline), &b = bound_in(candidate);
  if (!a.readings || !b.readings) return no_number();
  if (is_unbounded(a) || is_unbounded(b)) {
    put(*out, a.value == b.value ? kSame : kDiffers);
    return no_number();
  }
  return as_number(difference(make_number(a.value), make_number(b.value)));
}

void bound_text(const void* state, const char* unit, const ctprof_sink* out) {
  put(*out, format_scaled(bound_number(state), unit));
}

void bound_json(const void* state, const ctprof_sink* out) {
  if (is_unbounded(bound_in(state))) return put(*out, "\"max\"");
  JsonWriter digits;
  write_json(bound_number(state), digits);
  put(*out, digits.view());
}

template <Selector pick>
constexpr ctprof_rule bound_rule(const char* name, const char* newtypes, const char* description,
                                 ctprof_reduction reduction) {
  ctprof_rule rule =
      make_rule<Bound>(name, newtypes, description, reduction, add_bound<pick>, merge_bound<pick>);
  rule.number = bound_number;
  rule.delta = bound_delta;
  rule.text = bound_text;
  rule.json = bound_json;
  return rule;
}

constexpr ctprof_rule kBounds[] = {
    bound_rule<std::max<std::uint64_t>>("LimitMax", "LimitBytes,LimitCount,LimitUs",
                                        "the largest limit; no limit if any value has none",
                                        CTPROF_REDUCES_BY_MAX),
    bound_rule<std::min<std::uint64_t>>("FloorMin", "FloorBytes", "the smallest guarantee",
                                        CTPROF_REDUCES_BY_MIN),
};

}  // namespace

std::span<const ctprof_rule> ranges() { return kRanges; }
std::span<const ctprof_rule> bounds() { return kBounds; }

}  // namespace ctprof::rules
