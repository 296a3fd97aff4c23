#include "core/compare/figures/sorted_where.hpp"

#include "core/base/nearest.hpp"
#include "core/compare/asked/group_inputs.hpp"
#include "core/compare/grouping/kept_threads.hpp"

namespace ctprof {
namespace {

using Kind = Condition::ValueType;

// What an input is, and of what.
struct Found {
  bool of_groups = false;
  Kind kind = Kind::Unknown;
};

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

// What a name is on the sides whose threads have it; Unknown where none has.
Result<Kind> kind_of_threads(std::span<const Snapshot* const> sides, const Condition& condition,
                             const std::string& name) {
  Kind found = Kind::Unknown;
  for (const Snapshot* side : sides) {
    const Column* column = find_thread_column(*side, name);
    if (!column) continue;
    const Kind kind = kind_of(column->def().storage);
    if (kind == Kind::Unknown)
      return condition.refusal("'" + name + "' is neither a number nor a text");
    if (found != Kind::Unknown && found != kind)
      return condition.refusal("'" + name + "' is a number in one file and a text in the other");
    found = kind;
  }
  return found;
}

std::vector<std::string> names_in(std::span<const Snapshot* const> sides, const MetricPlan& plan) {
  std::vector<std::string> names{std::string(kGroupThreads), std::string(kGroupName)};
  for (const Snapshot* side : sides)
    for (const Column& column : side->threads().columns)
      if (!column.def().hidden && !column.def().is_mark) names.push_back(column.def().name);
  for (const PlannedMetric& metric : plan.metrics) names.push_back(metric.name);
  return names;
}

Error unknown(const Condition& condition, const std::string& name,
              std::span<const Snapshot* const> sides, const MetricPlan& plan) {
  for (const Snapshot* side : sides)
    for (const Table& table : side->tables)
      if (table.find(name))
        return condition.refusal("'" + name +
                                 "' is not of threads, and no group has it under this --group-by");
  return condition.refusal("no metric '" + name + "' in what was read" +
                           nearest_hint(name, names_in(sides, plan)));
}

Result<Found> found_in(std::span<const Snapshot* const> sides, const MetricPlan& plan,
                       const Condition& condition, const std::string& name) {
  if (is_of_groups(name)) return Found{true, name == kGroupName ? Kind::Text : Kind::Number};
  const auto kind = kind_of_threads(sides, condition, name);
  if (!kind) return kind.error();
  if (*kind != Kind::Unknown) return Found{false, *kind};
  const PlannedMetric* metric = plan.find(name);
  if (!metric) return unknown(condition, name, sides, plan);
  if (metric->entity == Entity::Host)
    return condition.refusal("'" + name + "' is of the host, which is in no group");
  if (!metric->has_number()) return condition.refusal("'" + name + "' of a group is not a number");
  return Found{true, Kind::Number};
}

Result<void> add_sorted(SortedWhere& sorted, const Condition& condition,
                        std::span<const Snapshot* const> sides, const MetricPlan& plan) {
  std::vector<Kind> kinds;
  const std::string *of_threads = nullptr, *of_groups = nullptr;  // an input of these
  for (const auto& input : condition.inputs()) {
    const auto found = found_in(sides, plan, condition, input.name);
    if (!found) return found.error();
    kinds.push_back(found->kind);
    (found->of_groups ? of_groups : of_threads) = &input.name;
  }
  if (of_threads && of_groups)
    return condition.refusal(
        "'" + *of_threads + "' is of threads, '" + *of_groups +
        "' of groups; join them by && alone, or give each a --where of its own");
  if (auto sound = condition.check(kinds); !sound) return sound.error();
  (of_groups ? sorted.groups : sorted.threads).push_back(condition);
  return {};
}

}  // namespace

Result<SortedWhere> sort_out(const Where& where, std::span<const Snapshot* const> sides,
                             const MetricPlan& plan) {
  SortedWhere sorted;
  for (const Condition& condition : where.conditions)
    if (auto added = add_sorted(sorted, condition, sides, plan); !added) return added.error();
  return sorted;
}

}  // namespace ctprof
