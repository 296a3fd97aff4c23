// What is known of a register, and how it flows; shared by the readers of both machines' code
// (tsd_code.hpp).

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "plugins/jemalloc-ptrace/finder/tsd_code.hpp"

namespace ctprof::jemalloc {

struct Value {
  enum class Kind : std::uint8_t {
    Unknown,
    Constant,  // place.offset
    Slot,      // what stands in the slot at place.slot
    Address,   // of a place: the thread pointer plus a distance
    Loaded,    // the number at a place
    Sum,       // the same with something added
  };
  Kind kind = Kind::Unknown;
  Place place;

  bool is(Kind k) const { return kind == k; }
};

inline Value constant(std::int64_t number) { return {Value::Kind::Constant, {0, number}}; }
inline Value slot(std::uint64_t address) { return {Value::Kind::Slot, {address, 0}}; }
inline Value thread_pointer() { return {Value::Kind::Address, {}}; }
inline Value loaded(const Place& place) { return {Value::Kind::Loaded, place}; }
// Sums wrap as those of the machine do.
inline std::int64_t wrapped_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
inline std::int64_t wrapped_difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

// What an addition yields.
inline Value sum(const Value& a, const Value& b) {
  using Kind = Value::Kind;
  if (b.is(Kind::Address) && !a.is(Kind::Address)) return sum(b, a);
  if (a.is(Kind::Constant) && b.is(Kind::Constant))
    return constant(wrapped_sum(a.place.offset, b.place.offset));
  if (a.is(Kind::Address) && b.is(Kind::Constant))
    return {Kind::Address, {a.place.slot, wrapped_sum(a.place.offset, b.place.offset)}};
  if (a.is(Kind::Address) && b.is(Kind::Slot) && a.place.slot == 0)
    return {Kind::Address, {b.place.slot, a.place.offset}};
  if (a.is(Kind::Loaded) && !b.is(Kind::Constant)) return {Kind::Sum, a.place};
  if (b.is(Kind::Loaded) && !a.is(Kind::Constant)) return {Kind::Sum, b.place};
  return {};
}

// The general registers of either machine, and the places that were added to.
class Registers {
 public:
  const Value& operator[](unsigned number) const { return values_[number & 31]; }
  void set(unsigned number, const Value& value) { values_[number & 31] = value; }
  void forget(unsigned number) { set(number, {}); }

  void added_to(const Place& place) {
    if (added_.size() < kMostPlaces &&
        std::find(added_.begin(), added_.end(), place) == added_.end())
      added_.push_back(place);
  }
  void stored(unsigned number, const Place& place) {
    const Value& value = (*this)[number];
    if (value.is(Value::Kind::Sum) && value.place == place) added_to(place);
  }
  std::vector<Place> take() { return std::move(added_); }

 private:
  // Neither function has more than a dozen.
  static constexpr std::size_t kMostPlaces = 64;

  std::array<Value, 32> values_{};
  std::vector<Place> added_;
};

}  // namespace ctprof::jemalloc
