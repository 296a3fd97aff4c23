// An expression as a tree, for whoever computes it in another way, in SQL for instance.

#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/expression/program.hpp"

namespace ctprof {

struct ExpressionNode {
  Op op = Op::Number;           // or Input, Add, Subtract, Negate, Multiply, Divide, Max
  double number = 0;            // of a Number
  std::size_t input = 0;        // of an Input: which one
  std::vector<std::size_t> of;  // operands of an operator, applied from left to right
};

struct ExpressionTree {
  std::vector<Program::Input> inputs;  // each name once, in order of appearance
  std::vector<ExpressionNode> nodes;   // the operands of each before it: the last one is the whole
};

// The error is that of Expression::parse().
Result<ExpressionTree> parse_tree(std::string_view text);

}  // namespace ctprof
