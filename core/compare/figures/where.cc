#include "core/compare/figures/where.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/text.hpp"
#include "core/compare/request/expressions.hpp"
#include "core/compare/request/spec.hpp"

namespace ctprof {
namespace {

using Value = Condition::Value;
using ValueType = Condition::ValueType;

// An input of a condition, found in the files.
struct ResolvedInput {
  bool is_of_group = false;
  ValueType type = ValueType::Unknown;
};

// Returns the column of threads, or of an entity of a plugin, that a condition may read, or null.
const Column* find_row_column(const Snapshot& side, Entity entity, std::string_view name) {
  const Table& table = side.table(entity);
  const Column* column = table.find(name);
  if (!column && is_of_plugin(entity))
    column = table.find(std::string(ctprof::name(entity)) + "." + std::string(name));
  return column && !column->def().is_hidden && !column->def().is_mark ? column : nullptr;
}

// Returns the condition type of cells with this storage; Unknown if a condition cannot read them.
ValueType type_of(Storage storage) {
  switch (storage) {
    case Storage::U64:
    case Storage::I64:
    case Storage::F64:
    case Storage::Stacks: return ValueType::Number;
    case Storage::Bool: return ValueType::Flag;
    case Storage::String: return ValueType::Text;
    default: return ValueType::Unknown;
  }
}

// Returns the type of a metric of rows on the sides that have it; Unknown if none has it.
Result<ValueType> find_row_type(std::span<const Snapshot* const> sides, Entity entity,
                                const Condition& condition, const std::string& name) {
  ValueType found = ValueType::Unknown;
  for (const Snapshot* side : sides) {
    const Column* column = find_row_column(*side, entity, name);
    if (!column) continue;
    const ValueType type = type_of(column->def().storage);
    if (type == ValueType::Unknown)
      return condition.refusal("'" + name + "' is neither a number nor a text");
    if (found != ValueType::Unknown && found != type)
      return condition.refusal("'" + name + "' is a number in one file and a text in the other");
    found = type;
  }
  return found;
}

std::vector<std::string> known_names(std::span<const Snapshot* const> sides, Entity entity,
                                     const MetricPlan& plan) {
  std::vector<std::string> names{std::string(kGroupThreads), std::string(kGroupName)};
  for (const Snapshot* side : sides)
    for (const Column& column : side->table(entity).columns)
      if (!column.def().is_hidden && !column.def().is_mark) names.push_back(column.def().name);
  for (const PlannedMetric& metric : plan.metrics) names.push_back(metric.name);
  return names;
}

Error unknown_metric_error(const Condition& condition, const std::string& name,
                           std::span<const Snapshot* const> sides, Entity entity,
                           const MetricPlan& plan) {
  for (const Snapshot* side : sides)
    for (const Table& table : side->tables)
      if (table.find(name))
        return condition.refusal(is_of_plugin(entity)
                                     ? "'" + name + "' is not a metric of the entity '" +
                                           std::string(ctprof::name(entity)) + "'"
                                     : "'" + name +
                                           "' is not a metric of threads, and no group has it "
                                           "with this --group-by");
  const std::string suggestion = suggest_nearest(name, known_names(sides, entity, plan));
  return condition.refusal("no metric '" + name + "' in the input" +
                           (suggestion.empty() ? "; a text must be in double quotes" : suggestion));
}

Result<ResolvedInput> resolve_input(std::span<const Snapshot* const> sides, Entity entity,
                                    const MetricPlan& plan, const Condition& condition,
                                    const std::string& name) {
  if (is_group_property(name))
    return ResolvedInput{true, name == kGroupName ? ValueType::Text : ValueType::Number};
  CTPROF_TRY_VALUE(const auto type, find_row_type(sides, entity, condition, name));
  if (type != ValueType::Unknown) return ResolvedInput{false, type};
  const PlannedMetric* metric = plan.find(name);
  if (!metric) return unknown_metric_error(condition, name, sides, entity, plan);
  if (metric->entity == Entity::Host)
    return condition.refusal("'" + name + "' is a metric of the host, not of a group");
  if (!metric->has_number()) return condition.refusal("'" + name + "' of a group is not a number");
  return ResolvedInput{true, ValueType::Number};
}

Result<void> classify_condition(ClassifiedConditions& classified, const Condition& condition,
                                std::span<const Snapshot* const> sides, const MetricPlan& plan) {
  std::vector<ValueType> types;
  const std::string *thread_input = nullptr,
                    *group_input = nullptr;  // the name of an input of each kind
  for (const auto& input : condition.inputs()) {
    CTPROF_TRY_VALUE(const auto found,
                     resolve_input(sides, classified.entity, plan, condition, input.name));
    types.push_back(found.type);
    (found.is_of_group ? group_input : thread_input) = &input.name;
  }
  if (thread_input && group_input)
    return condition.refusal(
        "'" + *thread_input + "' is a metric of " +
        (is_of_plugin(classified.entity) ? "rows" : "threads") + ", '" + *group_input +
        "' is one of groups; combine them only with &&, or use a separate --where for each");
  CTPROF_TRY(condition.check(types));
  (group_input ? classified.groups : classified.threads).push_back(condition);
  return {};
}

}  // namespace

Result<ClassifiedConditions> classify_conditions(const WhereConditions& where,
                                                 std::span<const Snapshot* const> sides,
                                                 const MetricPlan& plan, Entity entity) {
  ClassifiedConditions classified{.entity = entity};
  for (const Condition& condition : where.conditions)
    CTPROF_TRY(classify_condition(classified, condition, sides, plan));
  return classified;
}

namespace {

Value condition_value(const Column& column, std::size_t row, const Pools& pools) {
  if (!column.has_value(row)) return {};
  switch (column.def().storage) {
    case Storage::U64: return {ValueType::Number, static_cast<double>(column.u64()[row])};
    case Storage::I64: return {ValueType::Number, static_cast<double>(column.i64()[row])};
    case Storage::F64: return {ValueType::Number, column.f64()[row]};
    case Storage::Stacks:
      return {ValueType::Number,
              static_cast<double>(total_weight(pools.stacks[column.ids()[row]]))};
    case Storage::Bool: return {ValueType::Number, column.bools()[row] ? 1.0 : 0.0};
    case Storage::String: return {ValueType::Text, 0, pools.texts[column.ids()[row]]};
    default: return {};
  }
}

void apply_condition(KeptRows& kept_rows, const Snapshot& side, Entity entity,
                     const Condition& condition) {
  std::vector<const Column*> columns;
  for (const auto& input : condition.inputs())
    columns.push_back(find_row_column(side, entity, input.name));
  std::vector<Value> values(columns.size());
  for (std::size_t row = 0; row < kept_rows.size(); ++row) {
    if (!kept_rows[row]) continue;
    for (std::size_t i = 0; i < columns.size(); ++i)
      values[i] = columns[i] ? condition_value(*columns[i], row, *side.pools) : Value{};
    kept_rows[row] = condition.is_true(values);
  }
}

}  // namespace

KeptRows select_rows(const Snapshot& run, const ClassifiedConditions& where) {
  if (where.threads.empty()) return {};
  KeptRows kept_rows(run.table(where.entity).rows, true);
  for (const Condition& condition : where.threads)
    apply_condition(kept_rows, run, where.entity, condition);
  return kept_rows;
}

bool has_condition_columns(const Snapshot& run, const ClassifiedConditions& where) {
  return std::ranges::all_of(where.threads, [&](const Condition& condition) {
    return std::ranges::all_of(condition.inputs(), [&](const auto& input) {
      return find_row_column(run, where.entity, input.name) != nullptr;
    });
  });
}

std::string describe_kept_threads(std::span<const KeptCount> counts,
                                  std::span<const SideRuns> sides, Entity entity) {
  const std::string rows =
      is_of_plugin(entity) ? " rows of " + std::string(ctprof::name(entity)) : " threads";
  std::string words;
  for (std::size_t side = 0; side < sides.size(); ++side) {
    std::size_t kept = 0, all = 0;
    for (const KeptCount& run : counts.subspan(sides[side].first, sides[side].count)) {
      kept += run.kept_threads;
      all += run.all_threads;
    }
    words += (side ? " and " : "") + std::to_string(kept) + " of " + std::to_string(all) +
             (side ? "" : rows);
    if (sides.size() > 1) words += " of the " + side_name(side);
  }
  return "--where keeps " + words;
}

namespace {

// A condition on groups, with its metrics resolved in the plan.
class GroupCondition {
 public:
  GroupCondition(const Condition& condition, const Grouping& grouping, const MetricPlan& plan,
                 const Rollup& rollup)
      : condition_(&condition), grouping_(&grouping), rollup_(&rollup) {
    for (const auto& input : condition.inputs()) {
      const PlannedMetric* metric = is_group_property(input.name) ? nullptr : plan.find(input.name);
      metrics_.push_back(metric ? static_cast<std::size_t>(metric - plan.metrics.data()) : 0);
    }
  }

  bool is_true_for(std::size_t side, std::uint32_t group, std::string_view name) const {
    std::vector<Value> values;
    for (std::size_t i = 0; i < metrics_.size(); ++i) values.push_back(value(i, side, group, name));
    return condition_->is_true(values);
  }

 private:
  Value value(std::size_t i, std::size_t side, std::uint32_t group, std::string_view name) const {
    const std::string& input = condition_->inputs()[i].name;
    if (input == kGroupName) return {ValueType::Text, 0, name};
    if (input == kGroupThreads) return {ValueType::Number, grouping_->sides[side].threads(group)};
    return {ValueType::Number, as_double(rollup_->read({side, group, metrics_[i]}).number)};
  }

  const Condition* condition_;
  const Grouping* grouping_;
  const Rollup* rollup_;
  std::vector<std::size_t> metrics_;  // by input; 0 if it is not a metric
};

}  // namespace

void filter_groups(Grouping& grouping, std::span<const Condition> conditions, const Rollup& rollup,
                   const MetricPlan& plan) {
  std::vector<bool> is_kept(grouping.names.size(), true);
  for (const Condition& condition : conditions) {
    const GroupCondition bound(condition, grouping, plan, rollup);
    for (std::uint32_t group = 0; group < grouping.names.size(); ++group) {
      if (!is_kept[group]) continue;
      const std::string name =
          readable_key(name_in_condition(grouping, grouping.names[group], condition.text()));
      bool is_true_on_any_side = false;
      for (std::size_t side = 0; side < rollup.sides() && !is_true_on_any_side; ++side)
        is_true_on_any_side =
            grouping.has_group(side, group) && bound.is_true_for(side, group, name);
      is_kept[group] = is_true_on_any_side;
    }
  }
  grouping.keep_groups(is_kept);
}

}  // namespace ctprof
