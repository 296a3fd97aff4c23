// Locates the counters in the machine code of malloc and free, or of functions that do the same
// under other names (for example sdallocx).
//
// On their fast path, malloc adds the size to the thread's counter of allocated bytes and free to
// that of deallocated ones. Both functions are followed from their first instruction in the order
// of the code, with the known value of each register: the thread pointer, a distance from it, a
// counter that was loaded, its sum. A counter is a place at a fixed distance from the thread
// pointer that is loaded, increased by a non-constant value, and stored again. jemalloc has other
// counters (the 5.2 line counts bytes until it samples), so the two functions are matched: in all
// versions since 5.0 the counter of free is 8 or 16 bytes after that of malloc.
//
// Contents: decoding a function of x86_64 or aarch64, matching malloc and free; registers.
// See also: core/x86 for decoding x86_64 instructions.
//
// Pure functions on bytes; they terminate for any input.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ctprof::jemalloc {

// Bytes of a thread-local segment.
inline constexpr std::int64_t kMaxTlsBytes = 1LL << 30;
// Limit of a function's code in bytes; longer functions are followed up to it.
inline constexpr std::uint64_t kMaxFunctionBytes = 8192;

// A place in thread-local storage: `offset` bytes from the thread pointer, plus the number in a
// slot of the file if there is one.
struct TlsAddress {
  std::uint64_t slot = 0;  // its address as in the file, 0 for none
  std::int64_t offset = 0;
  bool operator==(const TlsAddress&) const = default;
};

struct Code {
  std::uint64_t address = 0;
  std::span<const std::uint8_t> bytes;
};

// Returns the places to which a function adds, in the order of its stores, without duplicates.
std::vector<TlsAddress> find_added_places(std::uint16_t machine, const Code& code);
std::vector<TlsAddress> find_added_places_x86_64(const Code& code);
std::vector<TlsAddress> find_added_places_aarch64(const Code& code);

struct CounterPlaces {
  TlsAddress allocated;
  TlsAddress deallocated;
};

// Returns no value if no pair fits, or more than one does.
std::optional<CounterPlaces> find_counters(std::uint16_t machine, const Code& malloc,
                                           const Code& free);

// The known value of a register, and operations on it; shared by the readers of both machines'
// code.
struct Value {
  enum class Kind : std::uint8_t {
    Unknown,
    Constant,  // place.offset
    Slot,      // the content of the slot at place.slot
    Address,   // address of a place: the thread pointer plus a distance
    Loaded,    // the number at a place
    Sum,       // a Loaded value plus something else
  };
  Kind kind = Kind::Unknown;
  TlsAddress place;

  bool is(Kind k) const { return kind == k; }
};

inline Value make_constant(std::int64_t number) { return {Value::Kind::Constant, {0, number}}; }
inline Value make_slot(std::uint64_t address) { return {Value::Kind::Slot, {address, 0}}; }
inline Value make_thread_pointer() { return {Value::Kind::Address, {}}; }
inline Value make_loaded(const TlsAddress& place) { return {Value::Kind::Loaded, place}; }
// Sums wrap around like those of the machine.
inline std::int64_t add_wrapping(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
inline std::int64_t subtract_wrapping(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

// Returns the result of an addition.
inline Value add_values(const Value& a, const Value& b) {
  using Kind = Value::Kind;
  if (b.is(Kind::Address) && !a.is(Kind::Address)) return add_values(b, a);
  if (a.is(Kind::Constant) && b.is(Kind::Constant))
    return make_constant(add_wrapping(a.place.offset, b.place.offset));
  if (a.is(Kind::Address) && b.is(Kind::Constant))
    return {Kind::Address, {a.place.slot, add_wrapping(a.place.offset, b.place.offset)}};
  if (a.is(Kind::Address) && b.is(Kind::Slot) && a.place.slot == 0)
    return {Kind::Address, {b.place.slot, a.place.offset}};
  if (a.is(Kind::Loaded) && !b.is(Kind::Constant)) return {Kind::Sum, a.place};
  if (b.is(Kind::Loaded) && !a.is(Kind::Constant)) return {Kind::Sum, b.place};
  return {};
}

// The general registers of x86_64 or aarch64, and the places to which the code adds.
class Registers {
 public:
  const Value& operator[](unsigned number) const { return values_[number & 31]; }
  void set(unsigned number, const Value& value) { values_[number & 31] = value; }
  void set_unknown(unsigned number) { set(number, {}); }

  void add_place(const TlsAddress& place) {
    if (added_places_.size() < kMaxPlaces &&
        std::find(added_places_.begin(), added_places_.end(), place) == added_places_.end())
      added_places_.push_back(place);
  }
  void handle_store(unsigned number, const TlsAddress& place) {
    const Value& value = (*this)[number];
    if (value.is(Value::Kind::Sum) && value.place == place) add_place(place);
  }
  std::vector<TlsAddress> take_places() { return std::move(added_places_); }

 private:
  // Neither function adds to more than a dozen.
  static constexpr std::size_t kMaxPlaces = 64;

  std::array<Value, 32> values_{};
  std::vector<TlsAddress> added_places_;
};

}  // namespace ctprof::jemalloc
