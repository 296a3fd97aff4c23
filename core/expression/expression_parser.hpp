// Reading an expression: precedence climbing over a handful of operators.

#pragma once

#include <string_view>

#include "core/expression/expression.hpp"

namespace ctprof {

class ExpressionParser {
 public:
  explicit ExpressionParser(std::string_view text) : rest_(text) { made_.text_ = text; }

  Result<Expression> parse();

 private:
  // Each of these reads one piece, appends its steps, and is false once anything went wrong.
  bool sum(int least_precedence);
  bool operand();
  bool name();
  bool number();
  bool max();

  bool fail(std::string_view why);
  bool take(char c);
  void skip_blanks();
  std::uint32_t input(std::string_view name, bool optional);
  void push(Expression::Op op) { made_.steps_.push_back({op}); }

  std::string_view rest_;
  Expression made_;
  std::string why_;
  int depth_ = 0;
};

}  // namespace ctprof
