// Conditions over metrics: `pcomm =~ "^nginx" && nice < 0`. The same grammar as expressions
// (expression.hpp), and beside it
//
//   == != < <= > >=   of numbers; the first two of texts also
//   =~ "PATTERN"      a regular expression (Pattern), found anywhere in a text
//   under "/PATH"     that path itself or one below it
//   && || !           in C's order
//
// Texts are written in double quotes, where \" is a quote and \\ a backslash (in patterns \\ stays
// as it is).
//
// What is true or false by itself needs no comparison: `descendant`, or `descendant == 0`.
//
// A comparison with a missing value is false; name? counts as zero if it is missing.
//
// What the names mean is up to the caller (compare/asked/expressions.hpp).

#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/expression/program.hpp"

namespace ctprof {

class Condition {
 public:
  // A Flag is the number 0 or 1, and a condition.
  enum class ValueType : std::uint8_t { Unknown, Number, Text, Flag, Truth };
  // The value of an input. A number is missing if it is NaN.
  struct Value {
    ValueType type = ValueType::Number;
    double number = std::numeric_limits<double>::quiet_NaN();
    std::string_view text{};
  };

  // The error begins with `activity`, such as "reading --where", and quotes the condition.
  static Result<Condition> parse(std::string_view text, std::string_view activity);

  const std::string& text() const { return program_.text; }
  // The names that it reads, each once, in order of appearance.
  std::span<const Program::Input> inputs() const { return program_.inputs; }

  // Whether the operands of each operator fit together. REQUIRES: one type for each input.
  Result<void> check(std::span<const ValueType> types) const;

  // REQUIRES: one value for each input, of the type that was checked. Threads: one at a time.
  bool holds(std::span<const Value> inputs) const;

  // The conditions joined by && at the top level; each still quotes the whole in its errors. If
  // there is no &&, the condition itself.
  std::vector<Condition> joined() const;

  // "<activity> '<condition>': <cause>"
  Error refusal(std::string_view cause) const { return error(activity_, program_.text, cause); }

 private:
  Condition(Program program, std::string_view activity)
      : program_(std::move(program)), activity_(activity) {}
  Program program_;
  std::string activity_;
};

}  // namespace ctprof
