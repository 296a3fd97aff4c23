// An expression as a tree, for evaluation by other means, such as SQL.

#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/expression/program.hpp"

namespace ctprof {

struct ExpressionNode {
  Op op = Op::Number;                 // or Input, Add, Subtract, Negate, Multiply, Divide, Max
  double number = 0;                  // of a Number
  std::size_t input = 0;              // index of an Input
  std::vector<std::size_t> operands;  // operands of an operator, applied from left to right
};

struct ExpressionTree {
  std::vector<Program::Input> inputs;  // each name once, in order of appearance
  std::vector<ExpressionNode> nodes;   // operands precede their operator; the last node is the root
};

// Returns the error of Expression::parse() for invalid expressions.
Result<ExpressionTree> parse_tree(std::string_view text);

}  // namespace ctprof
