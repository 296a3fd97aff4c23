#include "core/compare/asked/where.hpp"

namespace ctprof {
namespace {

constexpr std::string_view kDeed = "reading --where";

}  // namespace

Result<void> add_condition(Where& where, std::string_view text) {
  const auto condition = Condition::parse(text, kDeed);
  if (!condition) return condition.error();
  for (Condition& part : condition->joined()) {
    if (part.inputs().empty()) return part.refusal("it names no metric");
    where.conditions.push_back(std::move(part));
  }
  return {};
}

}  // namespace ctprof
