// What the one parser makes of a text: steps of a small stack machine, operands before their
// operator.
//
// What is here:   the data that formulas and conditions share.
// What is not:    reading it (expression_parser.hpp), what it comes to (expression.hpp,
// condition.hpp).

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/expression/pattern.hpp"

namespace ctprof {

// Those from Text on are for conditions alone.
enum class Op : std::uint8_t {
  Number,
  Input,
  Negate,
  Add,
  Subtract,
  Multiply,
  Divide,
  Max,  //
  Text,
  Less,
  LessOrEqual,
  Greater,
  GreaterOrEqual,
  Equal,
  NotEqual,
  Matches,
  Under,
  Not,
  And,
  Or,
};

struct Program {
  struct Input {
    std::string name;
    bool optional = false;
  };
  struct Step {
    Op op;
    std::uint32_t index = 0;  // of an input, a text or a pattern
    double number = 0;
  };

  std::string text;           // as it was written
  std::vector<Input> inputs;  // each name once, in order of appearance
  std::vector<Step> steps;
  std::vector<std::string> texts;
  std::vector<Pattern> patterns;
};

}  // namespace ctprof
