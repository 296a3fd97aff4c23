#include "core/expression/expression_parser.hpp"

#include <algorithm>
#include <charconv>

namespace ctprof {
namespace {

using Op = Expression::Op;

// Longer or deeper than anyone writes; short of what would hurt.
constexpr std::size_t kMostText = 4096;
constexpr int kMostDepth = 64;

struct Operator {
  char sign;
  int precedence;
  Op op;
};
// The two-sided operators. To add one, add a line.
constexpr Operator kOperators[] = {{'+', 1, Op::Add}, {'-', 1, Op::Subtract}, {'*', 2, Op::Multiply}, {'/', 2, Op::Divide}};

const Operator* find_operator(std::string_view text) {
  if (text.empty()) return nullptr;
  const auto it =
      std::find_if(std::begin(kOperators), std::end(kOperators), [&](const Operator& o) { return o.sign == text.front(); });
  return it == std::end(kOperators) ? nullptr : it;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool goes_on(char c) { return begins_name(c) || is_digit(c) || c == '.'; }

}  // namespace

Result<Expression> ExpressionParser::parse() {
  const std::string_view whole = rest_;
  if (whole.size() > kMostText) fail("it is too long");
  if (why_.empty() && sum(1) && !rest_.empty()) fail("an operator was expected");
  if (why_.empty()) return std::move(made_);
  const std::size_t at = whole.size() - rest_.size() + 1;
  return error("reading expression", whole.substr(0, kMostText), why_ + " at character " + std::to_string(at));
}

// Operands joined by operators that bind at least so tightly.
bool ExpressionParser::sum(int least_precedence) {
  if (!operand()) return false;
  while (true) {
    skip_blanks();
    const Operator* found = find_operator(rest_);
    if (!found || found->precedence < least_precedence) return true;
    rest_.remove_prefix(1);
    if (!sum(found->precedence + 1)) return false;
    push(found->op);
  }
}

bool ExpressionParser::operand() {
  if (++depth_ > kMostDepth) return fail("it is nested too deeply");
  skip_blanks();
  bool read = false;
  if (take('(')) {
    read = sum(1) && (take(')') || fail("')' was expected"));
  } else if (take('-')) {
    read = operand();
    push(Op::Negate);
  } else if (!rest_.empty() && begins_name(rest_.front())) {
    read = name();
  } else {
    read = number();
  }
  --depth_;
  return read;
}

bool ExpressionParser::name() {
  const auto end = static_cast<std::size_t>(std::find_if_not(rest_.begin(), rest_.end(), goes_on) - rest_.begin());
  const std::string_view word = rest_.substr(0, end);
  rest_.remove_prefix(end);
  if (word == "max" && take('(')) return max();
  const bool optional = !rest_.empty() && rest_.front() == '?';
  if (optional) rest_.remove_prefix(1);
  made_.steps_.push_back({Op::Input, input(word, optional)});
  return true;
}

bool ExpressionParser::max() {
  if (!sum(1)) return false;
  while (take(',')) {
    if (!sum(1)) return false;
    push(Op::Max);
  }
  return take(')') || fail("',' or ')' was expected");
}

bool ExpressionParser::number() {
  double value = 0;
  const auto [end, problem] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, std::chars_format::fixed);
  if (problem != std::errc{} || !is_digit(rest_.front())) return fail("a name, a number or '(' was expected");
  rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
  made_.steps_.push_back({Op::Number, 0, value});
  return true;
}

// A name that is asked for in both ways is needed.
std::uint32_t ExpressionParser::input(std::string_view name, bool optional) {
  auto& inputs = made_.inputs_;
  const auto known = std::find_if(inputs.begin(), inputs.end(), [&](const auto& i) { return i.name == name; });
  const auto index = static_cast<std::uint32_t>(known - inputs.begin());
  if (known == inputs.end()) inputs.push_back({std::string(name), optional});
  inputs[index].optional = inputs[index].optional && optional;
  return index;
}

bool ExpressionParser::fail(std::string_view why) {
  if (why_.empty()) why_ = why;
  return false;
}

bool ExpressionParser::take(char c) {
  skip_blanks();
  if (rest_.empty() || rest_.front() != c) return false;
  rest_.remove_prefix(1);
  return true;
}

void ExpressionParser::skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n"), rest_.size())); }

}  // namespace ctprof
