#include "core/expression/expression.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/number.hpp"
#include "core/expression/expression_parser.hpp"

namespace ctprof {
namespace {

// Removes and returns the top of a stack.
template <class T>
T pop(std::vector<T>& stack) {
  T top = std::move(stack.back());
  stack.pop_back();
  return top;
}

// The unit of a literal number, which is compatible with every unit.
constexpr std::string_view kAnyUnit = "";

bool is_dimensionless(std::string_view unit) {
  return unit == kAnyUnit || unit == "count" || unit == "ratio" || unit == "none";
}

// Returns the unit of `a op b`, or null if the units are incompatible.
const std::string* combine_units(Op op, const std::string& a, const std::string& b) {
  static const std::string ratio = "ratio";
  if (op == Op::Multiply) return is_dimensionless(a) ? &b : is_dimensionless(b) ? &a : nullptr;
  if (op == Op::Divide)
    return a == b && a != kAnyUnit ? &ratio : is_dimensionless(b) ? &a : nullptr;
  return a == b || b == kAnyUnit ? &a : a == kAnyUnit ? &b : nullptr;
}

using enum FigureKind;

// Combines two kinds that do not grow with the length of the window.
FigureKind combine_without_counters(FigureKind a, FigureKind b) {
  if (a == Number || b == Number) return a == Number ? b : a;
  return a == Share && b == Share ? Share : Level;
}

std::optional<FigureKind> product(FigureKind a, FigureKind b) {
  if (a != Counter && b != Counter) return combine_without_counters(a, b);
  const FigureKind other = a == Counter ? b : a;
  return other == Number || other == Share ? std::optional(Counter) : std::nullopt;
}

std::optional<FigureKind> quotient(FigureKind a, FigureKind b) {
  if (b != Counter) return a == Counter ? Counter : combine_without_counters(a, b);
  return a == Counter ? std::optional(Share) : std::nullopt;
}

std::optional<FigureKind> sum(FigureKind a, FigureKind b) {
  if (a != Counter && b != Counter) return combine_without_counters(a, b);
  const FigureKind other = a == Counter ? b : a;
  return other == Number || other == Counter ? std::optional(Counter) : std::nullopt;
}

std::optional<FigureKind> combine_kinds(Op op, FigureKind a, FigureKind b) {
  if (op == Op::Multiply) return product(a, b);
  return op == Op::Divide ? quotient(a, b) : sum(a, b);
}

std::string_view describe_kind(FigureKind kind) {
  constexpr std::string_view kWords[] = {"a number", "a counter", "a level", "a ratio"};
  return kWords[static_cast<std::size_t>(kind)];
}

std::string describe_kind_conflict(Op op, FigureKind a, FigureKind b) {
  const std::string first(describe_kind(a)), second(describe_kind(b));
  const std::string operation = op == Op::Multiply ? "it multiplies " + first + " by " + second
                                : op == Op::Divide ? "it divides " + first + " by " + second
                                                   : "it combines " + first + " with " + second;
  return operation +
         ", and the result depends on how long the counter has counted; use a ratio of counters";
}

}  // namespace

double calculate(Op op, double a, double b) {
  switch (op) {
    case Op::Add: return a + b;
    case Op::Subtract: return a - b;
    case Op::Multiply: return a * b;
    case Op::Divide: return b == 0 ? kNaN : a / b;
    case Op::Max: return std::isnan(a) || std::isnan(b) ? kNaN : std::max(a, b);
    default: return kNaN;
  }
}

Result<Expression> Expression::parse(std::string_view text) {
  CTPROF_TRY_VALUE(auto program,
                   ExpressionParser(text, Grammar::Formula).parse("reading expression"));
  return Expression(std::move(program));
}

double Expression::evaluate(std::span<const double> values) const {
  const bool all_missing = !values.empty() && std::all_of(values.begin(), values.end(),
                                                          [](double v) { return std::isnan(v); });
  if (all_missing) return kNaN;
  std::vector<double> stack;
  stack.reserve(program_.instructions.size());
  for (const Program::Instruction& instruction : program_.instructions) {
    if (instruction.op == Op::Number) {
      stack.push_back(instruction.number);
    } else if (instruction.op == Op::Input) {
      const double value = values[instruction.index];
      stack.push_back(std::isnan(value) && inputs()[instruction.index].optional ? 0 : value);
    } else if (instruction.op == Op::Negate) {
      stack.back() = -stack.back();
    } else {
      const double right = pop(stack), left = pop(stack);
      stack.push_back(calculate(instruction.op, left, right));
    }
  }
  return std::isfinite(stack.back()) ? stack.back() : kNaN;
}

Result<std::string> Expression::unit(std::span<const std::string> units) const {
  std::vector<std::string> stack;
  for (const Program::Instruction& instruction : program_.instructions) {
    if (instruction.op == Op::Number) {
      stack.emplace_back(kAnyUnit);
    } else if (instruction.op == Op::Input) {
      stack.push_back(units[instruction.index]);
    } else if (instruction.op != Op::Negate) {
      const std::string right = pop(stack), left = pop(stack);
      const std::string* combined = combine_units(instruction.op, left, right);
      if (!combined)
        return error("checking units of", program_.text,
                     "'" + left + "' and '" + right + "' are units that cannot be combined");
      stack.push_back(*combined);
    }
  }
  return {boost::system::in_place_value, stack.back() == kAnyUnit ? "none" : stack.back()};
}

Result<FigureKind> Expression::kind(std::span<const FigureKind> inputs) const {
  std::vector<FigureKind> stack;
  for (const Program::Instruction& instruction : program_.instructions) {
    if (instruction.op == Op::Number) {
      stack.push_back(FigureKind::Number);
    } else if (instruction.op == Op::Input) {
      stack.push_back(inputs[instruction.index]);
    } else if (instruction.op != Op::Negate) {
      const FigureKind right = pop(stack), left = pop(stack);
      const auto combined = combine_kinds(instruction.op, left, right);
      if (!combined)
        return error("checking kinds of", program_.text,
                     describe_kind_conflict(instruction.op, left, right));
      stack.push_back(*combined);
    }
  }
  return stack.back();
}

bool Expression::has_subtraction() const {
  return std::ranges::any_of(program_.instructions, [](const Program::Instruction& instruction) {
    return instruction.op == Op::Subtract || instruction.op == Op::Negate;
  });
}

std::vector<std::string> inputs_of(std::string_view expression) {
  std::vector<std::string> names;
  const auto parsed = Expression::parse(expression);
  if (!parsed) return names;
  for (const Expression::Input& input : parsed->inputs()) names.push_back(input.name);
  return names;
}

}  // namespace ctprof
