#include "core/compare/grouping/kept_threads.hpp"

#include <algorithm>

#include "core/compare/asked/side_name.hpp"

namespace ctprof {
namespace {

using Kind = Condition::ValueType;
using Value = Condition::Value;

Value value_at(const Column& column, std::size_t row, const Pools& pools) {
  if (!column.has_value(row)) return {};
  switch (column.def().storage) {
    case Storage::U64: return {Kind::Number, static_cast<double>(column.u64()[row])};
    case Storage::I64: return {Kind::Number, static_cast<double>(column.i64()[row])};
    case Storage::F64: return {Kind::Number, column.f64()[row]};
    case Storage::Bool: return {Kind::Number, column.bools()[row] ? 1.0 : 0.0};
    case Storage::String: return {Kind::Text, 0, pools.texts[column.ids()[row]]};
    default: return {};
  }
}

void keep_only(Kept& kept, const Snapshot& side, const Condition& condition) {
  std::vector<const Column*> columns;
  for (const auto& input : condition.inputs())
    columns.push_back(find_thread_column(side, input.name));
  std::vector<Value> values(columns.size());
  for (std::size_t row = 0; row < kept.size(); ++row) {
    if (!kept[row]) continue;
    for (std::size_t i = 0; i < columns.size(); ++i)
      values[i] = columns[i] ? value_at(*columns[i], row, *side.pools) : Value{};
    kept[row] = condition.holds(values);
  }
}

}  // namespace

const Column* find_thread_column(const Snapshot& side, std::string_view name) {
  const Column* column = side.threads().find(name);
  return column && !column->def().hidden && !column->def().is_mark ? column : nullptr;
}

std::vector<Kept> kept_threads(std::span<const Snapshot* const> sides,
                               std::span<const Condition> conditions) {
  std::vector<Kept> kept(sides.size());
  for (std::size_t side = 0; side < sides.size() && !conditions.empty(); ++side) {
    kept[side].assign(sides[side]->threads().rows, true);
    for (const Condition& condition : conditions) keep_only(kept[side], *sides[side], condition);
  }
  return kept;
}

std::string kept_in_words(std::span<const Kept> kept) {
  std::string words;
  for (std::size_t side = 0; side < kept.size(); ++side) {
    if (kept[side].empty()) return {};
    const auto stay = std::count(kept[side].begin(), kept[side].end(), true);
    words += (side ? " and " : "") + std::to_string(stay) + " of " +
             std::to_string(kept[side].size()) + (side ? "" : " threads");
    if (kept.size() > 1) words += " of the " + side_name(side);
  }
  return "--where keeps " + words;
}

}  // namespace ctprof
