// Ranges: a place on a scale has no sum and no largest that matters; a group lies between its
// smallest and its largest.

#include <algorithm>
#include <string>

#include "core/base/number.hpp"
#include "core/rules/builtin.hpp"
#include "core/rules/readings.hpp"

namespace ctprof::rules {
namespace {

// Smallest and largest; the order of the two cannot be broken, because both are moved by the same
// reading.
template <class T>
class Range {
 public:
  void include(T value) {
    low_ = any_ ? std::min(low_, value) : value;
    high_ = any_ ? std::max(high_, value) : value;
    any_ = true;
  }
  void include(const Range& other) {
    if (!other.any_) return;
    include(other.low_);
    include(other.high_);
  }
  bool any() const { return any_; }
  T low() const { return low_; }
  T high() const { return high_; }
  bool operator==(const Range&) const = default;

 private:
  T low_, high_;  // states come zeroed
  bool any_;
};

template <class T>
const Range<T>& range_in(const void* state) {
  return *static_cast<const Range<T>*>(state);
}

template <class T>
void add(void* states, const ctprof_rows* rows) {
  for_each_reading<Range<T>, T>(states, *rows,
                                [](Range<T>& range, T value) { range.include(value); });
}

template <class T>
void merge(void* into, const void* from) {
  static_cast<Range<T>*>(into)->include(range_in<T>(from));
}

template <class T>
ctprof_number number(const void* state) {
  const auto& range = range_in<T>(state);
  if (!range.any()) return no_number();
  if (range.low() == range.high()) return number_of(range.low());
  return number_of((static_cast<double>(range.low()) + static_cast<double>(range.high())) / 2);
}

// The difference of the two midpoints; ranges of one midpoint can still differ, and that is said
// beside the zero.
template <class T>
ctprof_number delta(const void* baseline, const void* candidate, const ctprof_sink* out) {
  const auto &a = range_in<T>(baseline), &b = range_in<T>(candidate);
  if (!a.any() || !b.any()) return no_number();
  const Difference between = difference(number<T>(baseline), number<T>(candidate));
  if (between.zero()) put(*out, a == b ? kSame : kDiffers);
  return as_number(between);
}

template <class T>
void text(const void* state, const char*, const ctprof_sink* out) {
  const auto& range = range_in<T>(state);
  if (!range.any()) return put(*out, "-");
  put(*out, std::to_string(range.low()));
  if (range.low() != range.high()) put(*out, ".." + std::to_string(range.high()));
}

template <class T>
void json(const void* state, const ctprof_sink* out) {
  const auto& range = range_in<T>(state);
  if (!range.any()) return put(*out, "null");
  put(*out,
      "{\"min\":" + std::to_string(range.low()) + ",\"max\":" + std::to_string(range.high()) + "}");
}

template <class T>
constexpr ctprof_rule rule(const char* name, const char* newtypes, const char* description) {
  return {.size = sizeof(ctprof_rule),
          .state_size = sizeof(Range<T>),
          .name = name,
          .fallback = nullptr,
          .newtypes = newtypes,
          .description = description,
          .init = nullptr,
          .add = add<T>,
          .merge = merge<T>,
          .finish = nullptr,
          .destroy = nullptr,
          .number = number<T>,
          .delta = delta<T>,
          .text = text<T>,
          .json = json<T>,
          .extras = nullptr,
          .parts = nullptr,
          .reduction = CTPROF_REDUCES_TO_RANGE,
          .reserved = 0};
}

constexpr ctprof_rule kRanges[] = {
    rule<std::int64_t>("RangeI32", "OrdinalI32", "smallest and largest"),
    rule<std::uint64_t>("RangeU32", "OrdinalU32", "smallest and largest"),
    rule<std::uint64_t>("RangeU64", "OrdinalU64", "smallest and largest"),
};

}  // namespace

std::span<const ctprof_rule> ranges() { return kRanges; }

}  // namespace ctprof::rules
