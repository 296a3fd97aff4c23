#include "core/expression/condition.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/expression/expression.hpp"
#include "core/expression/expression_parser.hpp"

namespace ctprof {
namespace {

using ValueType = Condition::ValueType;
using Value = Condition::Value;

bool can_be(ValueType type, ValueType required) {
  return type == required || type == ValueType::Unknown ||
         (type == ValueType::Flag && required != ValueType::Text);
}

const Operator& operator_of(Op op) {
  return *std::find_if(std::begin(kOperators), std::end(kOperators),
                       [&](const Operator& candidate) { return candidate.op == op; });
}

// Returns why an operator rejects its operands, or "".
std::string describe_type_error(const Operator& found, ValueType left, ValueType right) {
  const std::string sign = "'" + std::string(found.sign) + "' needs ";
  const auto both_can_be = [&](ValueType type) {
    return can_be(left, type) && can_be(right, type);
  };
  switch (found.operands) {
    case Operands::Numbers:
    case Operands::Ordered:
      return both_can_be(ValueType::Number) ? "" : sign + "a number on either side";
    case Operands::SameType:
      return both_can_be(ValueType::Number) || both_can_be(ValueType::Text)
                 ? ""
                 : sign + "two numbers or two texts";
    case Operands::Pattern:
    case Operands::Path: return can_be(left, ValueType::Text) ? "" : sign + "a text on its left";
    case Operands::Booleans:
      return both_can_be(ValueType::Boolean) ? "" : sign + "a condition on either side";
  }
  return {};
}

// Runs the program on the types of its operands instead of their values.
class TypeChecker {
 public:
  TypeChecker(const Program& program, std::span<const ValueType> types)
      : program_(program), types_(types) {}

  std::string find_type_error() {
    for (const Program::Instruction& instruction : program_.instructions)
      if (std::string cause = check_instruction(instruction); !cause.empty()) return cause;
    return can_be(stack_.back(), ValueType::Boolean) ? "" : "it is a value, not a condition";
  }

 private:
  std::string check_instruction(const Program::Instruction& instruction) {
    switch (instruction.op) {
      case Op::Number: return push(ValueType::Number);
      case Op::Text: return push(ValueType::Text);
      case Op::Input: return push_input(instruction.index);
      case Op::Negate:
        return can_be(stack_.back(), ValueType::Number) ? push(ValueType::Number, 1)
                                                        : "'-' needs a number after it";
      case Op::Not:
        return can_be(stack_.back(), ValueType::Boolean)
                   ? push(stack_.back() == ValueType::Unknown ? ValueType::Unknown
                                                              : ValueType::Boolean,
                          1)
                   : "'!' needs a condition after it, in parentheses";
      case Op::Max: return are_numbers() ? push(ValueType::Number, 2) : "'max' needs numbers";
      default: return check_binary(operator_of(instruction.op));
    }
  }

  std::string push(ValueType type, std::size_t popped_count = 0) {
    stack_.resize(stack_.size() - popped_count);
    stack_.push_back(type);
    return {};
  }

  std::string push_input(std::uint32_t index) {
    const ValueType type = types_.empty() ? ValueType::Unknown : types_[index];
    const Program::Input& input = program_.inputs[index];
    if (input.optional && type == ValueType::Text)
      return "'" + input.name + "' is a text, which '?' cannot replace by zero";
    return push(type);
  }

  bool are_numbers() const {
    return can_be(stack_.back(), ValueType::Number) &&
           can_be(stack_[stack_.size() - 2], ValueType::Number);
  }

  std::string check_binary(const Operator& found) {
    // A pattern or path on the right is stored in the program, so it is not an operand on the
    // stack.
    const bool has_one_operand =
        found.operands == Operands::Pattern || found.operands == Operands::Path;
    const ValueType right = has_one_operand ? ValueType::Text : stack_.back();
    const ValueType left = has_one_operand ? stack_.back() : stack_[stack_.size() - 2];
    std::string cause = describe_type_error(found, left, right);
    if (!cause.empty()) return cause;
    return push(found.operands == Operands::Numbers ? ValueType::Number : ValueType::Boolean,
                has_one_operand ? 1 : 2);
  }

  const Program& program_;
  std::span<const ValueType> types_;
  std::vector<ValueType> stack_;
};

Value make_boolean(bool is_true) { return {ValueType::Boolean, is_true ? 1.0 : 0.0}; }
bool is_missing(const Value& value) {
  return value.type != ValueType::Text && std::isnan(value.number);
}

bool is_under(std::string_view path, std::string_view top) {
  return !path.empty() && path.starts_with(top) &&
         (path.size() == top.size() || path[top.size()] == '/');
}

bool compare(Op op, const Value& a, const Value& b) {
  if (is_missing(a) || is_missing(b)) return false;
  const bool equal = a.type == ValueType::Text ? a.text == b.text : a.number == b.number;
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

Value apply_binary(Op op, const Value& a, const Value& b) {
  const bool is_number = op == Op::Max || operator_of(op).operands == Operands::Numbers;
  return is_number ? Value{ValueType::Number, calculate(op, a.number, b.number)}
                   : make_boolean(compare(op, a, b));
}

// Executes an operator: replaces its one or two operands on the stack with the result.
void execute(std::vector<Value>& stack, const Program& program,
             const Program::Instruction& instruction) {
  Value& top = stack.back();
  if (instruction.op == Op::Negate) {
    top.number = -top.number;
  } else if (instruction.op == Op::Not) {
    top = make_boolean(top.number == 0);
  } else if (instruction.op == Op::Matches) {
    top = make_boolean(!is_missing(top) && program.patterns[instruction.index].matches(top.text));
  } else if (instruction.op == Op::Under) {
    top = make_boolean(!is_missing(top) && is_under(top.text, program.texts[instruction.index]));
  } else {
    const Value right = top;
    stack.pop_back();
    stack.back() = apply_binary(instruction.op, stack.back(), right);
  }
}

}  // namespace

Result<Condition> Condition::parse(std::string_view text, std::string_view activity) {
  CTPROF_TRY_VALUE(auto program, ExpressionParser(text, Grammar::Condition).parse(activity));
  Condition condition(std::move(program), activity);
  CTPROF_TRY(condition.check({}));
  return condition;
}

Result<void> Condition::check(std::span<const ValueType> types) const {
  const std::string cause = TypeChecker(program_, types).find_type_error();
  if (!cause.empty()) return refusal(cause);
  return {};
}

std::vector<Condition> Condition::split_conjunction() const {
  std::vector<Condition> parts;
  for (Program& part : split_at_and(program_))
    parts.push_back(Condition(std::move(part), activity_));
  return parts;
}

bool Condition::is_true(std::span<const Value> inputs) const {
  std::vector<Value> stack;
  stack.reserve(program_.instructions.size());
  for (const Program::Instruction& instruction : program_.instructions) {
    if (instruction.op == Op::Number) {
      stack.push_back({ValueType::Number, instruction.number});
    } else if (instruction.op == Op::Text) {
      stack.push_back({ValueType::Text, 0, program_.texts[instruction.index]});
    } else if (instruction.op == Op::Input) {
      const Value& value = inputs[instruction.index];
      stack.push_back(is_missing(value) && program_.inputs[instruction.index].optional
                          ? Value{ValueType::Number, 0}
                          : value);
    } else {
      execute(stack, program_, instruction);
    }
  }
  return !is_missing(stack.back()) && stack.back().number != 0;
}

}  // namespace ctprof
