#include "core/compare/where.hpp"

#include <algorithm>

#include "core/base/nearest.hpp"

namespace ctprof {
namespace {

using Kind = Condition::Kind;
using Value = Condition::Value;

constexpr std::string_view kDeed = "reading --where";
// What groups have.
constexpr std::string_view kThreads = "threads", kGroup = "group";

bool is_of_groups(std::string_view name) { return name == kThreads || name == kGroup; }
Kind kind_of_group_input(std::string_view name) { return name == kThreads ? Kind::Number : Kind::Text; }

Result<void> add_group_condition(Where& where, Condition condition) {
  std::vector<Kind> kinds;
  for (const auto& input : condition.inputs()) {
    if (!is_of_groups(input.name))
      return condition.refusal("'" + input.name +
                               "' is of threads, 'threads' and 'group' of groups; give each a --where of its own");
    kinds.push_back(kind_of_group_input(input.name));
  }
  if (auto sound = condition.check(kinds); !sound) return sound.error();
  where.groups.push_back(std::move(condition));
  return {};
}

// What a condition can read of such cells; Unknown for none.
Kind kind_of(Storage storage) {
  switch (storage) {
    case Storage::U64:
    case Storage::I64:
    case Storage::F64:
    case Storage::Bool: return Kind::Number;
    case Storage::String: return Kind::Text;
    default: return Kind::Unknown;
  }
}

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

const Column* find_thread_column(const Snapshot& side, std::string_view name) {
  const Column* column = side.threads().find(name);
  return column && !column->def().hidden && !column->def().is_mark ? column : nullptr;
}

std::vector<std::string> names_in(std::span<const Snapshot* const> sides) {
  std::vector<std::string> names{std::string(kThreads), std::string(kGroup)};
  for (const Snapshot* side : sides)
    for (const Column& column : side->threads().columns)
      if (!column.def().hidden && !column.def().is_mark) names.push_back(column.def().name);
  return names;
}

Error unknown(const Condition& condition, const std::string& name, std::span<const Snapshot* const> sides) {
  for (const Snapshot* side : sides)
    for (const Table& table : side->tables)
      if (table.find(name)) return condition.refusal("'" + name + "' is not of threads");
  return condition.refusal("no metric '" + name + "' of threads in what was read" + nearest_hint(name, names_in(sides)));
}

// What a name is on the sides that have it.
Result<Kind> kind_in(std::span<const Snapshot* const> sides, const Condition& condition, const std::string& name) {
  Kind found = Kind::Unknown;
  for (const Snapshot* side : sides) {
    const Column* column = find_thread_column(*side, name);
    if (!column) continue;
    const Kind kind = kind_of(column->def().storage);
    if (kind == Kind::Unknown) return condition.refusal("'" + name + "' is neither a number nor a text");
    if (found != Kind::Unknown && found != kind)
      return condition.refusal("'" + name + "' is a number in one file and a text in the other");
    found = kind;
  }
  if (found == Kind::Unknown) return unknown(condition, name, sides);
  return found;
}

Result<void> check_names(std::span<const Snapshot* const> sides, const Condition& condition) {
  std::vector<Kind> kinds;
  for (const auto& input : condition.inputs()) {
    const auto kind = kind_in(sides, condition, input.name);
    if (!kind) return kind.error();
    kinds.push_back(*kind);
  }
  return condition.check(kinds);
}

void keep_only(Kept& kept, const Snapshot& side, const Condition& condition) {
  std::vector<const Column*> columns;
  for (const auto& input : condition.inputs()) columns.push_back(find_thread_column(side, input.name));
  std::vector<Value> values(columns.size());
  for (std::size_t row = 0; row < kept.size(); ++row) {
    if (!kept[row]) continue;
    for (std::size_t i = 0; i < columns.size(); ++i) values[i] = columns[i] ? value_at(*columns[i], row, *side.pools) : Value{};
    kept[row] = condition.holds(values);
  }
}

}  // namespace

Result<void> add_condition(Where& where, std::string_view text) {
  auto condition = Condition::parse(text, kDeed);
  if (!condition) return condition.error();
  const auto inputs = condition->inputs();
  if (inputs.empty()) return condition->refusal("it names no metric");
  if (std::any_of(inputs.begin(), inputs.end(), [](const auto& input) { return is_of_groups(input.name); }))
    return add_group_condition(where, std::move(*condition));
  where.threads.push_back(std::move(*condition));
  return {};
}

Result<std::vector<Kept>> kept_threads(std::span<const Snapshot* const> sides, const Where& where) {
  std::vector<Kept> kept(sides.size());
  for (const Condition& condition : where.threads)
    if (auto known = check_names(sides, condition); !known) return known.error();
  if (where.threads.empty()) return kept;
  for (std::size_t side = 0; side < sides.size(); ++side) {
    kept[side].assign(sides[side]->threads().rows, true);
    for (const Condition& condition : where.threads) keep_only(kept[side], *sides[side], condition);
  }
  return kept;
}

std::string kept_in_words(std::span<const Kept> kept) {
  std::string words;
  for (std::size_t side = 0; side < kept.size(); ++side) {
    if (kept[side].empty()) return {};
    const auto stay = std::count(kept[side].begin(), kept[side].end(), true);
    words += (side ? " and " : "") + std::to_string(stay) + " of " + std::to_string(kept[side].size()) + (side ? "" : " threads");
    if (kept.size() > 1) words += side ? " of the candidate" : " of the baseline";
  }
  return "--where keeps " + words;
}

bool keeps_group(const Where& where, std::string_view name, std::span<const std::uint64_t> threads) {
  return std::all_of(where.groups.begin(), where.groups.end(), [&](const Condition& condition) {
    return std::any_of(threads.begin(), threads.end(), [&](std::uint64_t count) {
      std::vector<Value> values;
      for (const auto& input : condition.inputs())
        values.push_back(input.name == kThreads ? Value{Kind::Number, static_cast<double>(count)} : Value{Kind::Text, 0, name});
      return condition.holds(values);
    });
  });
}

}  // namespace ctprof
