// The output of a test: cells, each a value or a gap, by row.
//
//   const testing::Rows expected{{"7/7", 40}, {"7/8", Gap::ThreadGone}};
//
// The type of a value depends on the storage of its metric, as for Column::put (batch.hpp):
//
//   a count, a time, an amount       std::uint64_t                     40
//   an ordinal with a sign           std::int64_t                      -5
//   a number with a fraction         double                            0.25
//   a flag                           bool                              true
//   a text                           std::string                       "SCHED_RR"
//   a set of CPUs, in words          Cell::Words                       Cell::Words{3}
//   numbers by name                  Cell::Map                         Cell::Map{{"anon", 12}}
//   no value                         Gap                               Gap::Denied
//
// A missing value never equals zero, and a text never equals the gap of the same name. In messages,
// texts are quoted and gaps are not: "Denied" is a text, Denied is a gap.
//
// Contents:   Cell, Rows.
// See also:   capture.hpp, which fills them; ctprof/testing.hpp, the header to include.

#pragma once

#include <concepts>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "ctprof/gap.hpp"

namespace ctprof {

// Prints the name of a gap, for test frameworks.
inline std::ostream& operator<<(std::ostream& out, Gap gap) { return out << name(gap); }

}  // namespace ctprof

namespace ctprof::sdk::testing {

// A value or a gap.
//
//   const testing::Cell& cell = done.cell("hello_switches", "7/7");
//   cell == 40                       // compares
//   cell.gap() == Gap::None          // it has a value
//   cell.get<std::uint64_t>()        // the value; throws if it is a gap
//   std::cout << cell                // prints 40, or the name of the gap
//
// Two cells are equal if both are the same gap, or both have the same value; an
// integer of either sign equals a cell of the same number.
class Cell {
 public:
  using Words = std::vector<std::uint64_t>;
  using Map = std::map<std::string, std::uint64_t>;

  Cell() : Cell(Gap::Untouched) {}
  Cell(Gap gap) : value_(gap) {}                         // NOLINT: implicit on purpose
  Cell(double value) : value_(value) {}                  // NOLINT: implicit on purpose
  Cell(bool value) : value_(value) {}                    // NOLINT: implicit on purpose
  Cell(std::string text) : value_(std::move(text)) {}    // NOLINT: implicit on purpose
  Cell(const char* text) : value_(std::string(text)) {}  // NOLINT: implicit on purpose
  Cell(Words words) : value_(std::move(words)) {}        // NOLINT: implicit on purpose
  Cell(Map map) : value_(std::move(map)) {}              // NOLINT: implicit on purpose
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) Cell(T number)  // NOLINT: implicit on purpose
      : value_(static_cast<std::uint64_t>(number)) {}
  template <std::signed_integral T>
  Cell(T number) : value_(static_cast<std::int64_t>(number)) {}  // NOLINT: implicit on purpose

  // Returns the gap; None if the cell has a value.
  Gap gap() const {
    const Gap* gap = std::get_if<Gap>(&value_);
    return gap ? *gap : Gap::None;
  }

  // Returns the value: std::uint64_t, std::int64_t, double, bool, std::string, Words or Map,
  // depending on the storage of the metric. Throws std::logic_error for a gap or another type.
  template <class T>
  const T& get() const {
    if (const T* value = std::get_if<T>(&value_)) return *value;
    throw std::logic_error("the cell is " + text());
  }

  template <class T>
  bool holds() const {
    return std::holds_alternative<T>(value_);
  }
  // Returns a number of any type as the bits of a cell of the ABI; 0 for anything else.
  std::uint64_t bits() const {
    std::uint64_t bits = 0;
    if (holds<std::uint64_t>()) bits = get<std::uint64_t>();
    if (holds<std::int64_t>()) bits = static_cast<std::uint64_t>(get<std::int64_t>());
    if (holds<double>()) std::memcpy(&bits, &get<double>(), sizeof bits);
    return bits;
  }

  // Returns the value, or the name of the gap, as text.
  std::string text() const {
    return std::visit([](const auto& value) { return text_of(value); }, value_);
  }

  friend bool operator==(const Cell& left, const Cell& right) {
    const auto* left_signed = std::get_if<std::int64_t>(&left.value_);
    const auto* right_signed = std::get_if<std::int64_t>(&right.value_);
    const auto* left_unsigned = std::get_if<std::uint64_t>(&left.value_);
    const auto* right_unsigned = std::get_if<std::uint64_t>(&right.value_);
    if (left_signed && right_unsigned) return std::cmp_equal(*left_signed, *right_unsigned);
    if (left_unsigned && right_signed) return std::cmp_equal(*left_unsigned, *right_signed);
    return left.value_ == right.value_;
  }
  friend std::ostream& operator<<(std::ostream& out, const Cell& cell) {
    return out << cell.text();
  }

 private:
  static std::string text_of(Gap gap) { return std::string(name(gap)); }
  static std::string text_of(std::uint64_t value) { return std::to_string(value); }
  static std::string text_of(std::int64_t value) { return std::to_string(value); }
  static std::string text_of(bool value) { return value ? "true" : "false"; }
  static std::string text_of(const std::string& value) { return "\"" + value + "\""; }
  static std::string text_of(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", value);
    return text;
  }
  static std::string text_of(const Words& words) {
    std::string text = "[";
    for (const std::uint64_t word : words)
      text += (text.size() > 1 ? " " : "") + std::to_string(word);
    return text + "]";
  }
  static std::string text_of(const Map& map) {
    std::string text = "{";
    for (const auto& [key, value] : map)
      text += (text.size() > 1 ? ", " : "") + key + ": " + std::to_string(value);
    return text + "}";
  }

  std::variant<Gap, std::uint64_t, std::int64_t, double, bool, std::string, Words, Map> value_;
};

// The cells of a metric by row. The name of a row is "TGID/TID" for a thread, "TGID" for a process,
// the path for a cgroup ("/" and "/a.slice"), and "host" for the host.
using Rows = std::map<std::string, Cell>;

}  // namespace ctprof::sdk::testing
