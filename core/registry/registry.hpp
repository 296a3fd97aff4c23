// The registry: every metric that any loaded plugin offers, merged by name.
//
// Several plugins may offer one metric (procfs and a BPF iterator both provide the run time). The
// registry keeps all offers, the highest rank first. It is built once, after loading, and never
// changes: any thread may read it, and any number of captures may share it.
//
// Two plugins that give one name different meanings (newtype, rule, unit, entity) are in conflict:
// the metric of the later one is refused, and the message names both. A third party's metric is
// also refused if it lacks the plugin's prefix, or claims the path of another metric in the file.
// An entity of a plugin has one source that lists its rows; a second one is refused, and so is a
// source of an entity that no source lists.
// Derived metrics are checked last, when all plugins are known: every input must be a numeric
// metric that a loaded plugin declares, no input may itself be derived, and unit and family must
// agree with the declaration.
//
// See also probed_host.hpp, which determines what works on a host, and plan.hpp, which selects what
// a capture runs.

#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/registry/loader.hpp"
#include "core/registry/metric_def.hpp"
#include "core/registry/plugin.hpp"
#include "core/rules/rule_set.hpp"

namespace ctprof {

// States that a source offers a metric. Whether it works on this host is probed later
// (probed_host.hpp).
struct Offer {
  const Plugin* plugin = nullptr;
  const SourceTable* source = nullptr;
  std::uint32_t index = 0;  // among the source's offers
  std::int32_t rank = 0;
};

// A source that works while a window is open. Its offers are separate from those of captures.
struct Recorder {
  const Plugin* plugin = nullptr;
  const SourceTable* source = nullptr;
  std::int32_t rank = 0;  // the highest rank of its offers
};

// An entity of a plugin, and the source that lists its rows.
struct PluginEntity {
  Entity entity = Entity::Thread;
  const Plugin* plugin = nullptr;
  const SourceTable* lister = nullptr;
};

struct OfferedMetric {
  SharedMetric def;
  std::vector<Offer> offers;  // highest rank first; for equal ranks, in load order
};

class Registry {
 public:
  explicit Registry(LoadedPlugins loaded);
  Registry(Registry&&) = default;

  const std::vector<Plugin>& plugins() const { return plugins_; }
  const std::vector<OfferedMetric>& offered_metrics() const { return offered_metrics_; }
  // Returns null if no loaded plugin offers the metric.
  const OfferedMetric* find(std::string_view metric) const;
  const std::vector<DerivedDef>& derived_metrics() const { return derived_metrics_; }
  // Returns the derived metrics, except those that depend on recorders other than these.
  std::vector<DerivedDef> derived_metrics_for(std::span<const std::string> recorders) const;
  // In load order.
  const std::vector<PluginEntity>& entities() const { return entities_; }
  // Returns null if no loaded plugin lists rows of the entity.
  const PluginEntity* find_entity(Entity entity) const;
  // Highest rank first.
  const std::vector<Recorder>& recorders() const { return recorders_; }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  const RuleSet& rules() const { return rules_; }
  // Plugins that were refused as a whole or in part; one entry per file.
  const std::vector<Refusal>& refusals() const { return refusals_; }

 private:
  void add_plugin(const Plugin& plugin);
  void add_sources_of_entities();
  // Returns why the source cannot list rows of its entity, or "".
  std::string find_entity_fault(const Plugin& plugin, const SourceTable& source) const;
  void add_offers(const Plugin& plugin, const SourceTable& source);
  void add_recorder(const Plugin& plugin, const SourceTable& source);
  void add_declaration(const SharedMetric& metric);
  // Returns the declared metric of that name, or null.
  const MetricDef* find_declared(std::string_view name) const;
  void add_derived_metrics(const Plugin& plugin);
  // Records a fault of a plugin. The first one keeps its message; further ones are only counted.
  void record_fault(const Plugin& plugin, std::string reason);
  void append_fault_counts();
  // Return why a plugin's definition is refused, or "".
  std::string find_metric_fault(const Plugin& plugin, const MetricDef& metric) const;
  std::string find_metric_fault(const Plugin& plugin, const DerivedDef& derived) const;
  std::string find_input_fault(const DerivedDef& derived, const std::string& input) const;
  std::string check_formula(DerivedDef& derived) const;
  bool is_derived(std::string_view name) const;
  OfferedMetric& find_or_add_offered_metric(const SharedMetric& metric);

  std::vector<Plugin> plugins_;
  std::vector<OfferedMetric> offered_metrics_;
  // Index in `offered_metrics_` by name; `offered_metrics_` owns the name.
  std::unordered_map<std::string_view, std::size_t> offered_metric_index_;
  std::vector<DerivedDef> derived_metrics_;
  std::vector<PluginEntity> entities_;
  std::vector<Recorder> recorders_;
  Vocabulary vocabulary_;
  // Index in `vocabulary_.metrics` by name.
  std::unordered_map<std::string_view, std::size_t> declaration_index_;
  RuleSet rules_;
  std::vector<Refusal> refusals_;
  std::map<std::string, std::size_t> fault_counts_;  // by the plugin's path
};

}  // namespace ctprof
