#include "core/registry/metric_def.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
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

constexpr std::size_t kMaxEntityNameBytes = 32;

// The names of the entities of plugins. A name is written before the count that makes it visible.
struct PluginEntities {
  std::mutex mutex;
  std::atomic<std::size_t> count{0};
  std::array<std::string, kMaxPluginEntities> names;

  std::optional<Entity> find(std::string_view name) const {
    for (std::size_t i = 0, known = count.load(std::memory_order_acquire); i < known; ++i)
      if (names[i] == name) return static_cast<Entity>(kBuiltinEntities + i);
    return std::nullopt;
  }
};

PluginEntities& plugin_entities() {
  static PluginEntities entities;
  return entities;
}

// Returns the entity of a definition in a plugin's table.
Entity entity_of(ctprof_entity number, Entity entity_of_source) {
  return number == CTPROF_ENTITY_OF_SOURCE ? entity_of_source : static_cast<Entity>(number);
}

template <class Enum, std::size_t N>
bool parse_name(const std::array<std::string_view, N>& names, std::string_view word, Enum& out) {
  const auto it = std::find(names.begin(), names.end(), word);
  if (it == names.end()) return false;
  out = static_cast<Enum>(it - names.begin());
  return true;
}

std::string text_or_default(const char* text, std::string_view default_text = "") {
  return text && *text ? std::string(text) : std::string(default_text);
}

// Returns the reduction of a built-in rule; empty for a rule that reduces nothing, and for a
// plugin's rule.
std::string find_reduction(std::string_view rule) {
  constexpr std::array<ctprof_reduction, 8> kReductionNumbers{
      CTPROF_REDUCES_BY_SUM,      CTPROF_REDUCES_BY_MAX,   CTPROF_REDUCES_BY_MIN,
      CTPROF_REDUCES_OTHERWISE,   CTPROF_REDUCES_TO_RANGE, CTPROF_REDUCES_TO_MODE,
      CTPROF_REDUCES_TO_AFFINITY, CTPROF_REDUCES_BY_KEY};
  const RuleInfo* found = find_rule(rule);
  if (!found || found->reduction == Reduction::None) return "";
  return std::string(kReductions[kReductionNumbers[static_cast<std::size_t>(found->reduction)]]);
}

std::optional<Headline> make_headline(const ctprof_headline* headline) {
  if (!headline) return std::nullopt;
  return Headline{.label = headline->label,
                  .order = headline->order,
                  .shown = headline->shown,
                  .orders_by_change = (headline->flags & CTPROF_HEADLINE_BY_CHANGE) != 0,
                  .floor = headline->floor};
}

std::optional<FindingDef> make_finding(const ctprof_finding* finding) {
  if (!finding) return std::nullopt;
  return FindingDef{.statement = finding->statement,
                    .at_least = finding->at_least,
                    .weight = finding->weight,
                    .next = finding->next};
}

std::vector<std::string> make_tags(const std::string& sched_class, bool is_dead,
                                   std::string_view gates) {
  constexpr std::string_view kConfig = "CONFIG_";
  std::vector<std::string> tags;
  if (!sched_class.empty()) tags.push_back(sched_class);
  if (is_dead) tags.emplace_back("dead");
  for (std::string_view gate : split(gates)) {
    if (gate.starts_with(kConfig)) gate.remove_prefix(kConfig.size());
    if (!gate.empty()) tags.emplace_back(gate);
  }
  return tags;
}

}  // namespace

std::string_view name(Entity entity) {
  const auto number = static_cast<std::size_t>(entity);
  return is_of_plugin(entity) ? plugin_entities().names[number - kBuiltinEntities]
                              : kEntityNames[number];
}
bool parse(std::string_view word, Entity& entity) { return parse_name(kEntityNames, word, entity); }
bool is_entity_name(std::string_view text) {
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  Entity builtin{};
  return !text.empty() && text.size() <= kMaxEntityNameBytes && text[0] >= 'a' && text[0] <= 'z' &&
         std::ranges::all_of(text, is_allowed) && !parse(text, builtin);
}

std::optional<Entity> find_plugin_entity(std::string_view name) {
  return plugin_entities().find(name);
}

std::optional<Entity> find_or_add_plugin_entity(std::string_view name) {
  PluginEntities& entities = plugin_entities();
  if (const auto found = entities.find(name)) return found;
  if (!is_entity_name(name)) return std::nullopt;
  const std::lock_guard lock(entities.mutex);
  if (const auto found = entities.find(name)) return found;
  const std::size_t count = entities.count.load(std::memory_order_relaxed);
  if (count == kMaxPluginEntities) return std::nullopt;
  entities.names[count] = name;
  entities.count.store(count + 1, std::memory_order_release);
  return static_cast<Entity>(kBuiltinEntities + count);
}

std::string_view name(Storage storage) { return kStorageNames[static_cast<std::size_t>(storage)]; }
bool parse(std::string_view word, Storage& storage) {
  return parse_name(kStorageNames, word, storage);
}

std::string default_file_path(Entity entity, std::string_view name) {
  if (is_of_plugin(entity)) return "none";
  return std::string(kEntityTables[static_cast<std::size_t>(entity)]) + std::string(name);
}

MetricDef define(const ctprof_metric& metric, std::string_view plugin, Entity entity) {
  const NewtypeInfo& newtype = *find_newtype(metric.newtype);
  MetricDef def;
  def.name = metric.name;
  def.entity = entity_of(metric.entity, entity);
  def.storage = static_cast<Storage>(metric.storage);
  def.newtype = metric.newtype;
  def.rule = metric.rule;
  def.reduction = find_reduction(def.rule);
  for (const MetricText& field : kMetricTexts)
    if (const char* text = metric.*field.source_field; text && *text)
      (def.*field.target_field).assign(text);
    else
      (def.*field.target_field).assign(field.default_text);
  if (def.unit.empty()) def.unit = newtype.unit;
  if (def.family.empty()) def.family = newtype.family;
  if (def.file_path.empty()) def.file_path = default_file_path(def.entity, def.name);
  if (metric.flags & CTPROF_METRIC_HIDDEN) def.file_path = "none";
  def.plugin = plugin;
  def.is_hidden = (metric.flags & CTPROF_METRIC_HIDDEN) != 0;
  def.is_mark = (metric.flags & CTPROF_METRIC_MARK) != 0;
  def.is_setting = (metric.flags & CTPROF_METRIC_SETTING) != 0;
  def.costly = (metric.flags & CTPROF_METRIC_COSTLY) != 0;
  def.covers_window = (metric.flags & CTPROF_METRIC_OF_WINDOW) != 0;
  def.headline = make_headline(metric.headline);
  def.role = text_or_default(metric.role);
  def.labels = text_or_default(metric.labels);
  return def;
}

bool has_same_meaning(const MetricDef& a, const MetricDef& b) {
  return a.newtype == b.newtype && a.rule == b.rule && a.unit == b.unit && a.entity == b.entity &&
         a.storage == b.storage;
}

bool is_histogram(const MetricDef& def) {
  return def.storage == Storage::Array &&
         (def.newtype == "HistogramNs" || def.newtype == "HistogramCount");
}

DerivedDef define(const ctprof_derived& derived, std::string_view plugin, Entity entity) {
  return {.name = derived.name,
          .entity = entity_of(derived.entity, entity),
          .expression = derived.expression,
          .unit = text_or_default(derived.unit, "none"),
          .family = text_or_default(derived.family, "gauge"),
          .section = text_or_default(derived.section, "derived"),
          .sched_class = text_or_default(derived.sched_class),
          .config_gates = text_or_default(derived.config_gates),
          .applies_to = text_or_default(derived.applies_to, "all"),
          .description = text_or_default(derived.description),
          .caveat = text_or_default(derived.caveat),
          .plugin = std::string(plugin),
          .headline = make_headline(derived.headline),
          .role = text_or_default(derived.role),
          .finding = make_finding(derived.finding)};
}

const MetricDef* Vocabulary::find(std::string_view name) const {
  const auto it = std::find_if(metrics.begin(), metrics.end(),
                               [&](const MetricDef& def) { return def.name == name; });
  return it == metrics.end() ? nullptr : &**it;
}

std::vector<std::string> tags_of(const MetricDef& def) {
  return make_tags(def.sched_class, def.rule == "Dead", def.config_gates);
}
std::vector<std::string> tags_of(const DerivedDef& def) {
  return make_tags(def.sched_class, false, def.config_gates);
}

}  // namespace ctprof
