// Conditions over metrics: `pcomm =~ "^nginx" && nice < 0`. The same grammar as expressions
// (expression.hpp), and beside it
//
//   == != < <= > >=   of numbers; the first two of texts also
//   =~ "PATTERN"      a regular expression (pattern.hpp), found anywhere in a text
//   under "/PATH"     that path itself or one below it
//   && || !           in C's order
//
// Texts stand in double quotes, where \" is a quote and \\ one backslash (two stay two in patterns)
//
// A comparison with what is missing is false; name? counts as zero where it is missing.
//
// What is here:   reading, checking, deciding.
// What is not:    what its names mean (compare/asked/where.hpp, compare/asked/fail_on.hpp).

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
  enum class ValueType : std::uint8_t { Unknown, Number, Text, Truth };
  // An input; missing unless it is a text or a number other than NaN.
  struct Value {
    ValueType type = ValueType::Number;
    double number = std::numeric_limits<double>::quiet_NaN();
    std::string_view text{};
  };

  // The error begins with the deed, "reading --where", and quotes the condition.
  static Result<Condition> parse(std::string_view text, std::string_view deed);

  const std::string& text() const { return program_.text; }
  // What it reads, each name once, in order of appearance.
  std::span<const Program::Input> inputs() const { return program_.inputs; }

  // Whether operands go together, given what each input is. REQUIRES: as many as there are inputs.
  Result<void> check(std::span<const ValueType> types) const;

  // REQUIRES: as many as there are inputs, of the kinds that were checked. Threads: one at a time.
  bool holds(std::span<const Value> inputs) const;

  // What it joins by && at the top, each a condition of its own that still quotes the whole; where
  // it joins nothing, itself.
  std::vector<Condition> joined() const;

  // "<deed> '<condition>': <cause>"
  Error refusal(std::string_view cause) const { return error(deed_, program_.text, cause); }

 private:
  Condition(Program program, std::string_view deed) : program_(std::move(program)), deed_(deed) {}
  Program program_;
  std::string deed_;
};

}  // namespace ctprof
