#include "core/compare/figures/plan_metrics.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "core/compare/figures/added_metrics.hpp"
#include "core/compare/figures/allowance.hpp"
#include "core/compare/figures/chosen_metrics.hpp"
#include "core/compare/figures/plan_inputs.hpp"
#include "core/compare/figures/uncaptured_metrics.hpp"
#include "core/compare/request/spec.hpp"
#include "core/registry/derived_family.hpp"
#include "core/registry/identity.hpp"
#include "core/registry/metric_def.hpp"
#include "core/rules/maps.hpp"
#include "ctprof/newtypes.hpp"

namespace ctprof {
namespace {

// The family of metrics that only grow.
constexpr std::string_view kCumulative = "cumulative";
constexpr std::string_view kLimit = "limit";

// The sort key of metrics. Columns can have different orders in different files: the smallest index
// of all files is used, then the name, so exchanging the files changes nothing.
struct MetricOrder {
  Entity entity = Entity::Thread;
  bool derived = false;
  std::size_t index = std::numeric_limits<std::size_t>::max();

  void add_index(std::size_t other) { index = std::min(index, other); }
};

struct OrderedMetric {
  MetricOrder order;
  PlannedMetric metric;
  bool operator<(const OrderedMetric& other) const {
    return std::tie(order.entity, order.derived, order.index, metric.name) <
           std::tie(other.order.entity, other.order.derived, other.order.index, other.metric.name);
  }
};

std::string describe(const MetricDef& def) {
  return def.newtype + " under " + def.rule + " in " + def.unit + ", per " +
         std::string(name(def.entity));
}

// Returns "first", "second", "third", "4th" ...
std::string ordinal(std::ptrdiff_t at) {
  constexpr std::string_view kWords[] = {"first", "second", "third"};
  if (at < std::ssize(kWords)) return std::string(kWords[at]);
  return std::to_string(at + 1) + "th";
}

// Metric names of a third party begin with the name of its plugin; names of ctprof's own never do
// (registry/registry.hpp).
bool is_third_party(std::string_view metric, std::string plugin) {
  std::replace(plugin.begin(), plugin.end(), '-', '_');
  return metric.starts_with(plugin + "_");
}

// Returns whether the rule can read cells of this storage: it accepts a newtype stored that way.
bool can_read_storage(const ctprof_rule& rule, Storage storage) {
  return std::any_of(kNewtypes.begin(), kNewtypes.end(), [&](const NewtypeInfo& newtype) {
    return is_listed(rule.newtypes, newtype.name) &&
           newtype.storage == static_cast<ctprof_storage>(storage);
  });
}

PlannedMetric metric_from_definition(const MetricDef& def) {
  PlannedMetric metric;
  metric.name = def.name;
  metric.entity = def.entity;
  metric.unit = def.unit;
  metric.section = def.section;
  metric.tags = tags_of(def);
  metric.family = def.family;
  metric.is_window_peak = def.covers_window;
  metric.is_cumulative = def.family == kCumulative;
  metric.has_stacks = def.storage == Storage::Stacks;
  metric.map_keys = def.map_keys;
  metric.labels = def.labels;
  metric.headline = def.headline;
  metric.role = def.role;
  metric.is_setting = def.is_setting;
  metric.is_third_party = is_third_party(def.name, def.plugin);
  return metric;
}

// A limit is a setting, so the thread with the largest limit is not reported.
void set_rule(PlannedMetric& metric, const ctprof_rule* rule, bool is_limit) {
  metric.rule = rule;
  if (metric.is_histogram()) metric.map_keys = rules::kHistogramKeys;
  metric.is_sum = rule->reduction == CTPROF_REDUCES_BY_SUM;
  metric.is_maximum = rule->reduction == CTPROF_REDUCES_BY_MAX && !is_limit;
}

class Planner {
 public:
  Planner(std::span<const Snapshot* const> sides, const Spec& spec,
          const PluginDefinitions& knowledge)
      : sides_(sides),
        by_(spec.group_by),
        entity_(spec.entity),
        knowledge_(&knowledge),
        work_(sides) {}

  MetricPlan plan() {
    if (by_ != GroupBy::Entity) add_thread_count();
    for (std::size_t side = 0; side < sides_.size(); ++side) collect_columns(side);
    for (const auto& [name, columns] : columns_) plan_column(name, columns);
    note_fallbacks();
    for (const Snapshot* side : sides_) collect_derived(side->derived);
    collect_derived(knowledge_->derived);
    for (const auto& [name, found] : derived_) plan_derived(name, found);
    note_omitted();
    std::sort(ordered_.begin(), ordered_.end());
    for (OrderedMetric& one : ordered_) plan_.metrics.push_back(std::move(one.metric));
    connect_inputs(plan_);
    if (std::ranges::any_of(sides_, [](const Snapshot* side) { return !!side->window; }))
      connect_totals(gauges_of_totals_, plan_);
    return std::move(plan_);
  }

 private:
  struct MetricColumns {
    MetricOrder order;
    std::vector<const Column*> by_side;  // by side; null: the side has no such column
  };
  struct DerivedMetric {
    MetricOrder order;
    const DerivedDef* def = nullptr;
    bool is_contradicted = false;
  };

  // Returns whether the axis groups the rows of the entity.
  bool has_groups(Entity entity) const {
    if (by_ == GroupBy::Entity) return entity == entity_;
    return !is_of_plugin(entity) && (entity != Entity::Cgroup || by_ == GroupBy::Cgroup);
  }

  void add_thread_count() {
    const MetricDef& def = identity_metric(kThreadCount);
    PlannedMetric metric = metric_from_definition(def);
    set_rule(metric, knowledge_->rules->find(def.rule), false);
    metric.counts_rows = true;
    kinds_.emplace(metric.name, FigureKind::Level);
    ordered_.push_back({{def.entity, false, 0}, std::move(metric)});
  }

  void collect_columns(std::size_t side) {
    std::size_t index = 0;
    for (const Table& table : sides_[side]->tables)
      for (const Column& column : table.columns) {
        const MetricDef& def = column.def();
        const bool is_figure = !def.is_hidden && !def.is_mark && def.family != "identity";
        if (!is_figure || !has_groups(def.entity) || def.name == kThreadCount) continue;
        MetricColumns& found = columns_[def.name];
        found.order.entity = def.entity;
        found.order.add_index(++index);
        found.by_side.resize(sides_.size());
        found.by_side[side] = &column;
      }
  }

  void plan_column(const std::string& name, const MetricColumns& columns) {
    const auto first = std::find_if(columns.by_side.begin(), columns.by_side.end(),
                                    [](const Column* column) { return column != nullptr; });
    const MetricDef& def = (*first)->def();
    for (const Column* const& column : columns.by_side)
      if (column && !has_same_meaning(column->def(), def))
        return add_note("metric '" + name + "' is not compared: the " +
                        ordinal(first - columns.by_side.begin()) + " file defines it as " +
                        describe(def) + ", the " + ordinal(&column - columns.by_side.data()) +
                        " as " + describe(column->def()));
    bool is_fallback = false;
    const ctprof_rule* rule = knowledge_->rules->find(def.rule, def.fallback, &is_fallback);
    if (!rule)
      return add_note("metric '" + name + "' is left out: its rule " + def.rule +
                      " is unknown in this version and has no fallback");
    if (rule->state_size == 0) return;
    if (!can_read_storage(*rule, def.storage))
      return add_note("metric '" + name + "' is left out: its rule " + rule->name +
                      " cannot read cells of type " + std::string(ctprof::name(def.storage)));
    if (is_fallback)
      fallbacks_[{def.rule, rule->name}] +=
          (fallbacks_.contains({def.rule, rule->name}) ? ", " : "") + name;
    PlannedMetric metric = metric_from_definition(def);
    set_rule(metric, rule, def.family == kLimit);
    if (const auto* plugin_rule = knowledge_->rules->find_plugin_rule(*rule))
      metric.rule_owner = call_owner(plugin_rule->file, "rule '" + std::string(rule->name) + "'");
    kinds_.emplace(name, kind_of_family(metric.family));
    ordered_.push_back({columns.order, std::move(metric)});
  }

  void collect_derived(std::span<const DerivedDef> defs) {
    for (std::size_t i = 0; i < defs.size(); ++i) {
      if (!has_groups(defs[i].entity) || columns_.contains(defs[i].name)) continue;
      DerivedMetric& found = derived_[defs[i].name];
      found.order.add_index(i);
      if (!found.def) found.def = &defs[i];
      const bool same = found.def->expression == defs[i].expression &&
                        found.def->unit == defs[i].unit && found.def->entity == defs[i].entity;
      // Only files can contradict each other; definitions of loaded plugins fill in missing ones.
      found.is_contradicted =
          found.is_contradicted || (!same && defs.data() != knowledge_->derived.data());
    }
  }

  void plan_derived(const std::string& name, const DerivedMetric& found) {
    if (found.is_contradicted)
      return add_note("derived metric '" + name +
                      "' is not compared: two files compute it differently");
    if (!work_.spend(max_steps(*found.def))) return void(omitted_.push_back(name));
    auto expression = Expression::parse(found.def->expression);
    if (!expression)
      return add_note("derived metric '" + name + "' is left out: " + expression.error().text);
    if (!may_have_value(*found.def, *expression)) return;
    PlannedMetric metric;
    metric.name = name;
    metric.entity = found.def->entity;
    metric.unit = found.def->unit;
    metric.section = found.def->section;
    metric.tags = tags_of(*found.def);
    metric.headline = found.def->headline;
    metric.role = found.def->role;
    metric.finding = found.def->finding;
    metric.is_third_party = is_third_party(name, found.def->plugin);
    metric.expression = std::move(*expression);
    if (auto result = set_family(metric, *found.def); !result)
      return add_note("derived metric '" + name + "' is left out: " + result.error().text);
    MetricOrder order = found.order;
    order.entity = metric.entity;
    order.derived = true;
    ordered_.push_back({order, std::move(metric)});
  }

  // Returns false for a metric of the host or of processes that a loaded plugin defines, if the
  // files have none of its inputs: it would add rows without values.
  bool may_have_value(const DerivedDef& def, const Expression& expression) const {
    const bool is_in_file = std::ranges::none_of(
        knowledge_->derived, [&](const DerivedDef& known) { return &known == &def; });
    return (def.entity != Entity::Host && def.entity != Entity::Process) || is_in_file ||
           std::ranges::any_of(expression.inputs(),
                               [&](const auto& input) { return kinds_.contains(input.name); });
  }

  // Determines the family from the kinds of the inputs. The kind of an input that no file has is
  // unknown; then the definition decides if the formula does not.
  Result<void> set_family(PlannedMetric& metric, const DerivedDef& def) {
    std::vector<FigureKind> kinds;
    bool are_known = true;
    for (const Expression::Input& input : metric.expression->inputs()) {
      const auto kind_entry = kinds_.find(input.name);
      are_known = are_known && kind_entry != kinds_.end();
      kinds.push_back(kind_entry == kinds_.end() ? FigureKind::Number : kind_entry->second);
    }
    const auto family = derived_family(*metric.expression, kinds, def.family);
    if (!family && are_known) return family.error();
    metric.family = family ? std::string(ctprof::name(*family)) : def.family;
    metric.is_cumulative = metric.family == kCumulative;
    metric.is_never_negative = def.family == kCumulative;
    if (family && *family == DerivedFamily::LevelFromTotals) gauges_of_totals_.insert(metric.name);
    return {};
  }

  // Returns an upper bound for the work of computing the metric for every group: the number of
  // groups is at most the number of rows.
  std::size_t max_steps(const DerivedDef& def) const {
    std::size_t rows = 0;
    for (const Snapshot* side : sides_) rows += side->rows_of(def.entity);
    return rows * def.expression.size();
  }

  void note_fallbacks() {
    for (const auto& [rules, metrics] : fallbacks_)
      add_note("rule " + rules.first + " is unknown in this version; " + rules.second +
               " replaces it for " + metrics);
  }
  void note_omitted() {
    if (omitted_.empty()) return;
    const std::string others =
        omitted_.size() > 1 ? " and " + std::to_string(omitted_.size() - 1) + " more are" : " is";
    add_note("derived metric '" + omitted_.front() + "'" + others +
             " left out: computing it exceeds the limit for files of this size");
  }
  void add_note(std::string sentence) { plan_.notes.push_back(std::move(sentence)); }

  std::span<const Snapshot* const> sides_;
  GroupBy by_;
  Entity entity_;
  const PluginDefinitions* knowledge_;
  Allowance work_;
  std::vector<std::string> omitted_;  // derived metrics that exceed the limit on work
  std::map<std::string, MetricColumns> columns_;
  std::map<std::string, DerivedMetric> derived_;
  std::map<std::string, FigureKind, std::less<>> kinds_;  // by metric; metrics with a column
  std::set<std::string> gauges_of_totals_;                // derived gauges that read totals
  std::map<std::pair<std::string, std::string>, std::string> fallbacks_;
  std::vector<OrderedMetric> ordered_;
  MetricPlan plan_;
};

}  // namespace

Result<MetricPlan> plan_metrics(std::span<const Snapshot* const> sides, const Spec& spec,
                                const PluginDefinitions& knowledge) {
  MetricPlan plan = Planner(sides, spec, knowledge).plan();
  plan.finds_busiest_threads = spec.busiest;
  CTPROF_TRY(add_key_metrics(plan, sides, spec));
  add_histogram_columns(plan);
  CTPROF_TRY(add_derived(plan, sides, spec.derive));
  CTPROF_TRY(choose_metrics(plan, sides, spec));
  if (const auto left_out = find_uncaptured_metrics(sides);
      spec.metrics.empty() && !left_out.empty())
    plan.notes.push_back(describe_uncaptured_metrics(left_out));
  return plan;
}

}  // namespace ctprof
