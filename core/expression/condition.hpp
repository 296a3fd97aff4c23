// Conditions over metrics, such as `pcomm =~ "^nginx" && nice < 0`. They extend the grammar of
// expressions (expression.hpp) by:
//
//   == != < <= > >=   comparisons of numbers; == and != also compare texts
//   =~ "PATTERN"      a regular expression (Pattern) that matches anywhere in a text
//   under "/PATH"     true for that path and all paths below it
//   && || !           with the precedence of C
//
// Texts are written in double quotes, where \" is a quote and \\ a backslash (in patterns \\ is not
// changed).
//
// An input that is true or false needs no comparison: `descendant`, or `descendant == 0`.
//
// A comparison with a missing value is false; the input `name?` counts as zero if it is missing.
//
// The caller determines the meaning of the names (compare/request/expressions.hpp).

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
  // A Flag can be used as the number 0 or 1, and as a condition.
  enum class ValueType : std::uint8_t { Unknown, Number, Text, Flag, Boolean };
  // The value of an input. A number is missing if it is NaN.
  struct Value {
    ValueType type = ValueType::Number;
    double number = std::numeric_limits<double>::quiet_NaN();
    std::string_view text{};
  };

  // The error begins with `activity`, such as "reading --where", and quotes the condition.
  static Result<Condition> parse(std::string_view text, std::string_view activity);

  const std::string& text() const { return program_.text; }
  // Returns the names of all inputs without duplicates, in order of appearance.
  std::span<const Program::Input> inputs() const { return program_.inputs; }

  // Checks that the operands of each operator have compatible types. REQUIRES: one type for each
  // input.
  Result<void> check(std::span<const ValueType> types) const;

  // REQUIRES: one value for each input, of the type that was checked. Not thread-safe.
  bool is_true(std::span<const Value> inputs) const;

  // Returns the conditions joined by && at the top level; if there is no &&, the condition itself.
  // The errors of each part quote the whole condition.
  std::vector<Condition> split_conjunction() const;

  // Returns the error "<activity> '<condition>': <cause>".
  Error refusal(std::string_view cause) const { return error(activity_, program_.text, cause); }

 private:
  Condition(Program program, std::string_view activity)
      : program_(std::move(program)), activity_(activity) {}
  Program program_;
  std::string activity_;
};

}  // namespace ctprof
