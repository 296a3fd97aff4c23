// Expressions over metrics: "run_time_ns / (run_time_ns + wait_time_ns)".
//
//   + - * /   and - before an operand, max(a, b, ...), parentheses, numbers, and names of metrics
//             (which may contain dots, and the key of a map in brackets: map[key])
//   name?     an input that may be missing: it then counts as zero, unless all inputs are missing
//
// A missing input or a division by zero gives no value. Files contain expressions, so the parser
// limits their length and depth, and evaluation cannot fail.
//
// The caller supplies the inputs (compare/figures/rollup.hpp); conditions are in condition.hpp.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/expression/program.hpp"

namespace ctprof {

// The kind of a value in a window, which determines its dependence on the length of the window.
enum class FigureKind : std::uint8_t {
  Number,   // a literal
  Counter,  // counted in the window: it grows with the window's length
  Level,    // a state, read at both ends of the window
  Share,    // a quotient of counters of one window, independent of its length
};

class Expression {
 public:
  using Input = Program::Input;

  // The error quotes the expression and gives the position of the wrong character.
  static Result<Expression> parse(std::string_view text);

  // Returns the names of all inputs without duplicates, in order of appearance.
  std::span<const Input> inputs() const { return program_.inputs; }

  // `values`: one for each input, NaN if missing. Returns NaN if there is no result. REQUIRES: the
  // number of values equals the number of inputs.
  double evaluate(std::span<const double> values) const;

  // Returns the unit of the result, from one unit for each input. Equal units can be added, and
  // their quotient is a ratio; only counts and plain numbers can multiply or divide another unit.
  // Fails if units are incompatible. REQUIRES: the number of units equals the number of inputs.
  Result<std::string> unit(std::span<const std::string> units) const;

  // Returns the kind of the result, from the kind of each input. A quotient of counters is a share;
  // a counter times a share, or divided by a level, is a counter. Fails for a counter times a
  // counter or a level, for a sum of a counter and a level or share, and for anything but a counter
  // divided by a counter, because the result would depend on the length of the window. REQUIRES:
  // the number of kinds equals the number of inputs.
  Result<FigureKind> kind(std::span<const FigureKind> inputs) const;
  // Returns whether the expression contains a subtraction or a negation.
  bool has_subtraction() const;

 private:
  explicit Expression(Program program) : program_(std::move(program)) {}
  Program program_;
};

// Applies an arithmetic operator. Returns NaN if an operand is NaN, and for a division by zero.
double calculate(Op op, double a, double b);

// Returns the names of the inputs of an expression; none if it cannot be parsed.
std::vector<std::string> inputs_of(std::string_view expression);

}  // namespace ctprof
