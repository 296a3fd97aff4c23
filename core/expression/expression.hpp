// Expressions over metrics: "run_time_ns / (run_time_ns + wait_time_ns)".
//
//   + - * /   and - before an operand, max(a, b, ...), parentheses, numbers, names of metrics (dots belong to them);
//   name?     an input that may be missing: it counts as zero then, as long as any other input is there.
//
// A missing input, or a zero to divide by, gives no value. An expression is data that files carry: reading one is bounded in length
// and depth, and evaluating it cannot fail.
//
// What is here:   reading, evaluating, the unit that comes out.
// What is not:    where inputs come from (compare/derived.hpp).

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace ctprof {

class Expression {
 public:
  struct Input {
    std::string name;
    bool optional = false;
  };

  // The error quotes the expression and says where it stops making sense.
  static Result<Expression> parse(std::string_view text);

  // What it reads, each name once, in order of appearance.
  std::span<const Input> inputs() const { return inputs_; }

  // One value for each input, NaN where it is missing; NaN for no value. REQUIRES: as many as there are inputs.
  double evaluate(std::span<const double> values) const;

  // The unit of the result from one unit for each input: like adds to like, like divided by like is a ratio, and only counts and
  // bare numbers multiply and divide another unit. REQUIRES: as many as there are inputs.
  Result<std::string> unit(std::span<const std::string> units) const;

  // The steps of evaluation, operands before their operator.
  enum class Op : std::uint8_t { Number, Input, Negate, Add, Subtract, Multiply, Divide, Max };
  struct Step {
    Op op;
    std::uint32_t input = 0;
    double number = 0;
  };

 private:
  friend class ExpressionParser;
  std::string text_;
  std::vector<Input> inputs_;
  std::vector<Step> steps_;
};

// The names that an expression reads; none for one that makes no sense.
std::vector<std::string> inputs_of(std::string_view expression);

}  // namespace ctprof
