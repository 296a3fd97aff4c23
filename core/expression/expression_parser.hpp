// Parses formulas and conditions by precedence climbing.
//
// There is one grammar; a formula is restricted to what yields a number. Whether operands fit
// together is checked later (condition.cc). A parser is used once.

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

  // The error begins with `activity`, and names the character at which the text is wrong.
  Result<Program> parse(std::string_view activity);

 private:
  // Each of these reads one construct and appends its instructions; false once anything is wrong.
  bool sum(int least_precedence);
  bool right_side(const Operator& found);
  bool operand();
  bool name();
  std::size_t end_of_name() const;
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
