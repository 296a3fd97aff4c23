// Parses any bytes as an expression and as a condition. Checks that accepted ones can be evaluated,
// with values and without.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "core/expression/condition.hpp"
#include "core/expression/expression.hpp"

namespace {

using ctprof::Condition;

// Returns a text for names that begin with a letter before 'm', and a number for others.
Condition::Value value_of(std::string_view name) {
  if (name.front() < 'm') return {Condition::ValueType::Text, 0, "nginx: worker/0"};
  return {Condition::ValueType::Number, static_cast<double>(name.size())};
}

// Evaluates a condition; returns nothing if the types do not match.
std::optional<bool> evaluate(const Condition& condition) {
  std::vector<Condition::Value> values;
  std::vector<Condition::ValueType> types;
  for (const auto& input : condition.inputs()) {
    values.push_back(value_of(input.name));
    types.push_back(values.back().type);
  }
  if (!condition.check(types)) return {};
  return condition.is_true(values);
}

// Checks that a condition joined by && holds if and only if all its parts hold.
void check_condition(std::string_view text) {
  const auto condition = Condition::parse(text, "reading");
  const auto whole = condition ? evaluate(*condition) : std::nullopt;
  if (!whole) return;
  bool all = true;
  for (const Condition& part : condition->split_conjunction()) all = evaluate(part).value() && all;
  if (all != *whole) std::abort();
}

void check_expression(std::string_view text) {
  const auto expression = ctprof::Expression::parse(text);
  if (!expression) return;
  const std::size_t inputs = expression->inputs().size();
  expression->evaluate(std::vector<double>(inputs, 2.5));
  expression->evaluate(std::vector<double>(inputs, std::numeric_limits<double>::quiet_NaN()));
  if (const auto unit = expression->unit(std::vector<std::string>(inputs, "ns"));
      unit && unit->empty())
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_expression(text);
  check_condition(text);
  return 0;
}
