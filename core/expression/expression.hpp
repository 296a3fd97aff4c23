// Expressions over metrics: "run_time_ns / (run_time_ns + wait_time_ns)".
//
//   + - * /   and - before an operand, max(a, b, ...), parentheses, numbers, and names of metrics
//             (dots belong to them, and the key of a map in brackets: map[key])
//   name?     an input that may be missing: it counts as zero then, as long as any other is there
//
// A missing input or a division by zero gives no value. Files carry expressions, so parsing one is
// bounded in length and depth, and evaluating it cannot fail.
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

// What a figure is of a window, and how it depends on the window's length.
enum class FigureKind : std::uint8_t {
  Number,   // a literal
  Counter,  // what was counted in the window: it grows with the window's length
  Level,    // a state, read at both ends of the window
  Share,    // a quotient of counters of one window, whatever its length
};

class Expression {
 public:
  using Input = Program::Input;

  // The error quotes the expression and names the character at which it is wrong.
  static Result<Expression> parse(std::string_view text);

  // The names that it reads, each once, in order of appearance.
  std::span<const Input> inputs() const { return program_.inputs; }

  // `values`: one for each input, NaN if missing. Returns NaN if there is no result. REQUIRES: as
  // many values as inputs.
  double evaluate(std::span<const double> values) const;

  // The unit of the result, from one unit for each input. Equal units add, and divide to a ratio;
  // only counts and plain numbers multiply or divide another unit. Fails if units do not fit.
  // REQUIRES: as many units as inputs.
  Result<std::string> unit(std::span<const std::string> units) const;

  // What the result is, from the kind of each input. Quotients of counters are shares; a counter
  // times a share, or divided by a level, is a counter. Fails for a counter times a counter or a
  // level, a sum of a counter and a level or share, and anything divided by a counter but a
  // counter: the result would depend on the window's length in no simple way. REQUIRES: as many
  // kinds as inputs.
  Result<FigureKind> kind(std::span<const FigureKind> inputs) const;
  // Whether it subtracts or negates anything.
  bool subtracts() const;

 private:
  explicit Expression(Program program) : program_(std::move(program)) {}
  Program program_;
};

// Applies an arithmetic operator. NaN if an operand is NaN, or for a division by zero.
double calculate(Op op, double a, double b);

// The names that an expression reads; none if it cannot be parsed.
std::vector<std::string> inputs_of(std::string_view expression);

}  // namespace ctprof
