// Reading an expression: precedence climbing over a handful of operators.
//
// One grammar for all; formulas have no more of it than makes a number. Whether operands go
// together is condition.cc's business.

#pragma once

#include <string_view>

#include "core/expression/program.hpp"

namespace ctprof {

enum class Grammar : std::uint8_t { Formula, Condition };

class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, Grammar grammar) : rest_(text), grammar_(grammar) {
    made_.text = text;
  }

  // The error begins with the deed.
  Result<Program> parse(std::string_view deed);

 private:
  // Each of these reads one piece, appends its instructions, and is false once anything went wrong.
  bool sum(int least_precedence);
  bool right_side(const Operator& found);
  bool operand();
  bool name();
  bool number();
  bool max();
  bool pattern();
  bool path();

  bool fail(std::string_view why);
  bool take(char c);
  bool take_text(bool is_pattern, std::string& out);
  void skip_blanks();
  const Operator* find_operator() const;
  std::uint32_t input(std::string_view name, bool optional);
  std::uint32_t add_text(std::string text);
  void push(Op op, std::uint32_t index = 0) { made_.instructions.push_back({op, index}); }

  std::string_view rest_;
  Grammar grammar_;
  Program made_;
  std::string why_;
  int depth_ = 0;
};

}  // namespace ctprof
