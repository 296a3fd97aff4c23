// The result of the parser: instructions for a stack machine, in which operands precede their
// operator, and the regular expressions of the text. Formulas (expression.hpp) and conditions
// (condition.hpp) are programs.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace re2 {
class RE2;
}

namespace ctprof {

// A regular expression in the syntax of RE2: the common subset of Perl and Python, without
// back-references and lookahead. The matching time is bounded by the length of the name.
//
// A pattern matches anywhere in a name, unless it contains ^ or $. Names are bytes. Thread-safe:
// any number of threads can match concurrently.
class Pattern {
 public:
  // The error consists only of the cause: "a '[' has no ']'".
  static Result<Pattern> parse(std::string_view text);

  bool matches(std::string_view name) const;

 private:
  explicit Pattern(std::shared_ptr<const re2::RE2> compiled) : compiled_(std::move(compiled)) {}
  std::shared_ptr<const re2::RE2> compiled_;
};

// Operations from Text on occur only in conditions.
enum class Op : std::uint8_t {
  Number,
  Input,
  Negate,
  Add,
  Subtract,
  Multiply,
  Divide,
  Max,
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
  struct Instruction {
    Op op;
    std::uint32_t index = 0;  // of an input, a text or a pattern
    double number = 0;
  };

  std::string text;           // as written
  std::vector<Input> inputs;  // each name once, in order of appearance
  std::vector<Instruction> instructions;
  std::vector<std::string> texts;
  std::vector<Pattern> patterns;
};

// The operands of an operator. The result for Numbers is a number, otherwise true or false.
enum class Operands : std::uint8_t { Numbers, Ordered, SameType, Pattern, Path, Booleans };

struct Operator {
  std::string_view sign;
  int precedence;
  Op op;
  Operands operands;
};

// The table of binary operators. To add one, add a line. A sign that begins with another sign must
// precede it.
inline constexpr Operator kOperators[] = {
    {"||", 1, Op::Or, Operands::Booleans},         {"&&", 2, Op::And, Operands::Booleans},
    {"==", 3, Op::Equal, Operands::SameType},      {"!=", 3, Op::NotEqual, Operands::SameType},
    {"=~", 3, Op::Matches, Operands::Pattern},     {"under", 3, Op::Under, Operands::Path},
    {"<=", 3, Op::LessOrEqual, Operands::Ordered}, {">=", 3, Op::GreaterOrEqual, Operands::Ordered},
    {"<", 3, Op::Less, Operands::Ordered},         {">", 3, Op::Greater, Operands::Ordered},
    {"+", 4, Op::Add, Operands::Numbers},          {"-", 4, Op::Subtract, Operands::Numbers},
    {"*", 5, Op::Multiply, Operands::Numbers},     {"/", 5, Op::Divide, Operands::Numbers},
};

// Splits a condition at the `&&` operators of its top level, from left to right. Each part keeps
// only the inputs that it reads. A program without such an operator is returned as one part.
std::vector<Program> split_at_and(const Program& program);

}  // namespace ctprof
