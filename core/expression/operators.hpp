// The two-sided operators of expressions, in one table.

#pragma once

#include <string_view>

#include "core/expression/program.hpp"

namespace ctprof {

// What stands on either side of an operator, and so what comes out: a number of Numbers, otherwise
// whether it holds.
enum class Operands : std::uint8_t { Numbers, Ordered, Alike, Pattern, Path, Truths };

struct Operator {
  std::string_view sign;
  int precedence;
  Op op;
  Operands operands;
};

// To add one, add a line; a sign that begins with another stands before it.
inline constexpr Operator kOperators[] = {
    {"||", 1, Op::Or, Operands::Truths},           {"&&", 2, Op::And, Operands::Truths},
    {"==", 3, Op::Equal, Operands::Alike},         {"!=", 3, Op::NotEqual, Operands::Alike},
    {"=~", 3, Op::Matches, Operands::Pattern},     {"under", 3, Op::Under, Operands::Path},
    {"<=", 3, Op::LessOrEqual, Operands::Ordered}, {">=", 3, Op::GreaterOrEqual, Operands::Ordered},
    {"<", 3, Op::Less, Operands::Ordered},         {">", 3, Op::Greater, Operands::Ordered},
    {"+", 4, Op::Add, Operands::Numbers},          {"-", 4, Op::Subtract, Operands::Numbers},
    {"*", 5, Op::Multiply, Operands::Numbers},     {"/", 5, Op::Divide, Operands::Numbers},
};

}  // namespace ctprof
