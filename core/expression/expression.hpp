// Expressions over metrics: "run_time_ns / (run_time_ns + wait_time_ns)".
//
//   + - * /   and - before an operand, max(a, b, ...), parentheses, numbers, and names of metrics
//             (dots belong to them)
//   name?     an input that may be missing: it counts as zero then, as long as any other is there
//
// A missing input, or a zero to divide by, gives no value. An expression is data that files carry:
// reading one is bounded in length and depth, and evaluating it cannot fail.
//
// What is here:   reading, evaluating, the unit that comes out.
// What is not:    where inputs come from (compare/figures/rollup.hpp); what holds or does not
// (condition.hpp).

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/expression/program.hpp"

namespace ctprof {

class Expression {
 public:
  using Input = Program::Input;

  // The error quotes the expression and says where it stops making sense.
  static Result<Expression> parse(std::string_view text);

  // What it reads, each name once, in order of appearance.
  std::span<const Input> inputs() const { return program_.inputs; }

  // One value for each input, NaN where it is missing; NaN for no value. REQUIRES: as many as there
  // are inputs.
  double evaluate(std::span<const double> values) const;

  // The unit of the result from one unit for each input: like adds to like, like divided by like is
  // a ratio, and only counts and bare numbers multiply and divide another unit. REQUIRES: as many
  // as there are inputs.
  Result<std::string> unit(std::span<const std::string> units) const;

 private:
  explicit Expression(Program program) : program_(std::move(program)) {}
  Program program_;
};

// What an operator between two numbers makes of them: NaN where one is missing, or a zero would
// divide.
double calculate(Op op, double a, double b);

// The names that an expression reads; none for one that makes no sense.
std::vector<std::string> inputs_of(std::string_view expression);

}  // namespace ctprof
