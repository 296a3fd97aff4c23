#include "core/registry/metric_def.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/text.hpp"
#include "ctprof/newtypes.hpp"

namespace ctprof {
namespace {

constexpr std::array<std::string_view, 4> kEntityNames{"thread", "process", "cgroup", "host"};
constexpr std::array<std::string_view, 9> kStorageNames{"u64",    "i64", "f64",   "bool",  "string",
                                                        "bitset", "map", "array", "stacks"};
constexpr std::array<std::string_view, 4> kEntityTables{"threads[].", "threads[].",
                                                        "cgroup_stats[].", "metrics."};

template <class Enum, std::size_t N>
bool parse_name(const std::array<std::string_view, N>& names, std::string_view word, Enum& out) {
  const auto it = std::find(names.begin(), names.end(), word);
  if (it == names.end()) return false;
  out = static_cast<Enum>(it - names.begin());
  return true;
}

std::string text(const char* given, std::string_view otherwise = "") {
  return given && *given ? std::string(given) : std::string(otherwise);
}

// Returns the reduction of a built-in rule; empty for a rule that reduces nothing, and for a
// plugin's rule.
std::string reduction_of(std::string_view rule) {
  constexpr std::array<ctprof_reduction, 8> kWays{
      CTPROF_REDUCES_BY_SUM,      CTPROF_REDUCES_BY_MAX,   CTPROF_REDUCES_BY_MIN,
      CTPROF_REDUCES_OTHERWISE,   CTPROF_REDUCES_TO_RANGE, CTPROF_REDUCES_TO_MODE,
      CTPROF_REDUCES_TO_AFFINITY, CTPROF_REDUCES_BY_KEY};
  const RuleInfo* found = find_rule(rule);
  if (!found || found->reduction == Reduction::None) return "";
  return std::string(kReductions[kWays[static_cast<std::size_t>(found->reduction)]]);
}

std::optional<Headline> headline_of(const ctprof_headline* headline) {
  if (!headline) return std::nullopt;
  return Headline{.label = headline->label,
                  .order = headline->order,
                  .shown = headline->shown,
                  .by_change = (headline->flags & CTPROF_HEADLINE_BY_CHANGE) != 0,
                  .floor = headline->floor};
}

std::vector<std::string> tags(const std::string& sched_class, bool dead, std::string_view gates) {
  constexpr std::string_view kConfig = "CONFIG_";
  std::vector<std::string> tags;
  if (!sched_class.empty()) tags.push_back(sched_class);
  if (dead) tags.emplace_back("dead");
  for (std::string_view gate : split(gates)) {
    if (gate.starts_with(kConfig)) gate.remove_prefix(kConfig.size());
    if (!gate.empty()) tags.emplace_back(gate);
  }
  return tags;
}

}  // namespace

std::string_view name(Entity entity) { return kEntityNames[static_cast<std::size_t>(entity)]; }
bool parse(std::string_view word, Entity& entity) { return parse_name(kEntityNames, word, entity); }
std::string_view name(Storage storage) { return kStorageNames[static_cast<std::size_t>(storage)]; }
bool parse(std::string_view word, Storage& storage) {
  return parse_name(kStorageNames, word, storage);
}

std::string home_place(Entity entity, std::string_view name) {
  return std::string(kEntityTables[static_cast<std::size_t>(entity)]) + std::string(name);
}

MetricDef define(const ctprof_metric& metric, std::string_view plugin) {
  const NewtypeInfo& newtype = *find_newtype(metric.newtype);
  MetricDef def;
  def.name = metric.name;
  def.entity = static_cast<Entity>(metric.entity);
  def.storage = static_cast<Storage>(metric.storage);
  def.newtype = metric.newtype;
  def.rule = metric.rule;
  def.reduction = reduction_of(def.rule);
  for (const MetricText& field : kMetricTexts)
    if (const char* given = metric.*field.given; given && *given)
      (def.*field.kept).assign(given);
    else
      (def.*field.kept).assign(field.otherwise);
  if (def.unit.empty()) def.unit = newtype.unit;
  if (def.family.empty()) def.family = newtype.family;
  if (def.file_path.empty()) def.file_path = home_place(def.entity, def.name);
  if (metric.flags & CTPROF_METRIC_HIDDEN) def.file_path = "none";
  def.plugin = plugin;
  def.hidden = (metric.flags & CTPROF_METRIC_HIDDEN) != 0;
  def.is_mark = (metric.flags & CTPROF_METRIC_MARK) != 0;
  def.setting = (metric.flags & CTPROF_METRIC_SETTING) != 0;
  def.costly = (metric.flags & CTPROF_METRIC_COSTLY) != 0;
  def.of_window = (metric.flags & CTPROF_METRIC_OF_WINDOW) != 0;
  def.headline = headline_of(metric.headline);
  def.role = text(metric.role);
  return def;
}

bool same_meaning(const MetricDef& a, const MetricDef& b) {
  return a.newtype == b.newtype && a.rule == b.rule && a.unit == b.unit && a.entity == b.entity &&
         a.storage == b.storage;
}

DerivedDef define(const ctprof_derived& derived, std::string_view plugin) {
  return {.name = derived.name,
          .entity = static_cast<Entity>(derived.entity),
          .expression = derived.expression,
          .unit = text(derived.unit, "none"),
          .family = text(derived.family, "gauge"),
          .section = text(derived.section, "derived"),
          .sched_class = text(derived.sched_class),
          .config_gates = text(derived.config_gates),
          .applies_to = text(derived.applies_to, "all"),
          .description = text(derived.description),
          .caveat = text(derived.caveat),
          .plugin = std::string(plugin),
          .headline = headline_of(derived.headline),
          .role = text(derived.role)};
}

const MetricDef* Vocabulary::find(std::string_view name) const {
  const auto it = std::find_if(metrics.begin(), metrics.end(),
                               [&](const MetricDef& def) { return def.name == name; });
  return it == metrics.end() ? nullptr : &**it;
}

std::vector<std::string> tags_of(const MetricDef& def) {
  return tags(def.sched_class, def.rule == "Dead", def.config_gates);
}
std::vector<std::string> tags_of(const DerivedDef& def) {
  return tags(def.sched_class, false, def.config_gates);
}

}  // namespace ctprof
