#include "core/expression/condition.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/expression/conjunction.hpp"
#include "core/expression/expression.hpp"
#include "core/expression/expression_parser.hpp"

namespace ctprof {
namespace {

using Kind = Condition::Kind;
using Value = Condition::Value;

// What an input is may not be known yet; a condition it never is.
bool may_be(Kind kind, Kind wanted) {
  return kind == wanted || (kind == Kind::Unknown && wanted != Kind::Truth);
}

const Operator& operator_of(Op op) {
  return *std::find_if(std::begin(kOperators), std::end(kOperators),
                       [&](const Operator& known) { return known.op == op; });
}

// Why an operator does not take what stands on its sides; empty where it does.
std::string objection(const Operator& found, Kind left, Kind right) {
  const std::string sign = "'" + std::string(found.sign) + "' needs ";
  const auto both = [&](Kind kind) { return may_be(left, kind) && may_be(right, kind); };
  switch (found.operands) {
    case Operands::Numbers:
    case Operands::Ordered: return both(Kind::Number) ? "" : sign + "a number on either side";
    case Operands::Alike:
      return both(Kind::Number) || both(Kind::Text) ? "" : sign + "two numbers or two texts";
    case Operands::Pattern:
    case Operands::Path: return may_be(left, Kind::Text) ? "" : sign + "a text on its left";
    case Operands::Truths: return both(Kind::Truth) ? "" : sign + "a condition on either side";
  }
  return {};
}

// The kinds of operands under way, step by step.
class Checker {
 public:
  Checker(const Program& program, std::span<const Kind> kinds) : program_(program), kinds_(kinds) {}

  std::string complaint() {
    for (const Program::Step& step : program_.steps)
      if (std::string why = take(step); !why.empty()) return why;
    return may_be(stack_.back(), Kind::Truth) ? "" : "it says a value, not what should hold of it";
  }

 private:
  std::string take(const Program::Step& step) {
    switch (step.op) {
      case Op::Number: return push(Kind::Number);
      case Op::Text: return push(Kind::Text);
      case Op::Input: return input(step.index);
      case Op::Negate:
        return may_be(stack_.back(), Kind::Number) ? push(Kind::Number, 1)
                                                   : "'-' needs a number after it";
      case Op::Not:
        return may_be(stack_.back(), Kind::Truth)
                   ? push(Kind::Truth, 1)
                   : "'!' needs a condition after it, in parentheses";
      case Op::Max: return numbers() ? push(Kind::Number, 2) : "'max' needs numbers";
      default: return two_sided(operator_of(step.op));
    }
  }

  std::string push(Kind kind, std::size_t instead_of = 0) {
    stack_.resize(stack_.size() - instead_of);
    stack_.push_back(kind);
    return {};
  }

  std::string input(std::uint32_t index) {
    const Kind kind = kinds_.empty() ? Kind::Unknown : kinds_[index];
    const Program::Input& input = program_.inputs[index];
    if (input.optional && kind == Kind::Text)
      return "'" + input.name + "' is a text, and none counts as zero";
    return push(kind);
  }

  bool numbers() const {
    return may_be(stack_.back(), Kind::Number) && may_be(stack_[stack_.size() - 2], Kind::Number);
  }

  std::string two_sided(const Operator& found) {
    // What is written out has been read already, and is no step.
    const bool one_operand =
        found.operands == Operands::Pattern || found.operands == Operands::Path;
    const Kind right = one_operand ? Kind::Text : stack_.back();
    const Kind left = one_operand ? stack_.back() : stack_[stack_.size() - 2];
    std::string why = objection(found, left, right);
    if (!why.empty()) return why;
    return push(found.operands == Operands::Numbers ? Kind::Number : Kind::Truth,
                one_operand ? 1 : 2);
  }

  const Program& program_;
  std::span<const Kind> kinds_;
  std::vector<Kind> stack_;
};

Value truth(bool holds) { return {Kind::Truth, holds ? 1.0 : 0.0}; }
bool is_missing(const Value& value) { return value.kind != Kind::Text && std::isnan(value.number); }

bool is_under(std::string_view path, std::string_view top) {
  return !path.empty() && path.starts_with(top) &&
         (path.size() == top.size() || path[top.size()] == '/');
}

bool compare(Op op, const Value& a, const Value& b) {
  if (is_missing(a) || is_missing(b)) return false;
  const bool equal = a.kind == Kind::Text ? a.text == b.text : a.number == b.number;
  switch (op) {
    case Op::Equal: return equal;
    case Op::NotEqual: return !equal;
    case Op::Less: return a.number < b.number;
    case Op::LessOrEqual: return a.number <= b.number;
    case Op::Greater: return a.number > b.number;
    case Op::GreaterOrEqual: return a.number >= b.number;
    case Op::And: return a.number != 0 && b.number != 0;
    default: return a.number != 0 || b.number != 0;
  }
}

Value join(Op op, const Value& a, const Value& b) {
  const bool is_number = op == Op::Max || operator_of(op).operands == Operands::Numbers;
  return is_number ? Value{Kind::Number, calculate(op, a.number, b.number)}
                   : truth(compare(op, a, b));
}

// What one step makes of the operand on top of the stack; of two for what is not here.
void advance(std::vector<Value>& stack, const Program& program, const Program::Step& step) {
  Value& top = stack.back();
  if (step.op == Op::Negate) {
    top.number = -top.number;
  } else if (step.op == Op::Not) {
    top = truth(top.number == 0);
  } else if (step.op == Op::Matches) {
    top = truth(!is_missing(top) && program.patterns[step.index].matches(top.text));
  } else if (step.op == Op::Under) {
    top = truth(!is_missing(top) && is_under(top.text, program.texts[step.index]));
  } else {
    const Value right = top;
    stack.pop_back();
    stack.back() = join(step.op, stack.back(), right);
  }
}

}  // namespace

Result<Condition> Condition::parse(std::string_view text, std::string_view deed) {
  auto program = ExpressionParser(text, Grammar::Condition).parse(deed);
  if (!program) return program.error();
  Condition condition(std::move(*program), deed);
  if (auto sound = condition.check({}); !sound) return sound.error();
  return condition;
}

Result<void> Condition::check(std::span<const Kind> kinds) const {
  const std::string why = Checker(program_, kinds).complaint();
  if (!why.empty()) return refusal(why);
  return {};
}

std::vector<Condition> Condition::joined() const {
  std::vector<Condition> parts;
  for (Program& part : joined_by_and(program_)) parts.push_back(Condition(std::move(part), deed_));
  return parts;
}

bool Condition::holds(std::span<const Value> inputs) const {
  std::vector<Value> stack;
  stack.reserve(program_.steps.size());
  for (const Program::Step& step : program_.steps) {
    if (step.op == Op::Number) {
      stack.push_back({Kind::Number, step.number});
    } else if (step.op == Op::Text) {
      stack.push_back({Kind::Text, 0, program_.texts[step.index]});
    } else if (step.op == Op::Input) {
      const Value& value = inputs[step.index];
      stack.push_back(is_missing(value) && program_.inputs[step.index].optional
                          ? Value{Kind::Number, 0}
                          : value);
    } else {
      advance(stack, program_, step);
    }
  }
  return stack.back().number != 0;
}

}  // namespace ctprof
