// The registry: every metric that any loaded plugin offers, merged by name.
//
// Several plugins may offer one metric (procfs and a BPF iterator both know the run time). The
// registry keeps all offers, the highest rank first. It is built once, when plugins are loaded, and
// never changes: any thread may read it, and any number of captures may share it.
//
// Two plugins that give one name different meanings (newtype, rule, unit, entity) are in conflict:
// the later one's metric is refused, and both are named. So is an unprefixed name of a third
// party's, or one that wants another's place in the file. Derived metrics are checked when all
// plugins are there: their units must come out as they say.
//
// What is here:   merging and conflicts.
// What is not:    loading (loader.hpp), what a host can do of it (probed.hpp), which sources a
// capture runs (plan.hpp), printing (tools/).

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/registry/loader.hpp"
#include "core/registry/metric_def.hpp"
#include "core/registry/plugin.hpp"
#include "core/rules/rule_book.hpp"

namespace ctprof {

// One source's word that it can fill one metric. Whether it can on this host is asked later
// (probed.hpp).
struct Offer {
  const Plugin* plugin = nullptr;
  const SourceTable* source = nullptr;
  std::uint32_t index = 0;  // among the source's offers
  std::int32_t rank = 0;
};

struct Field {
  MetricDef def;
  std::vector<Offer> offers;  // best rank first; of equals the plugin loaded first
};

class Registry {
 public:
  explicit Registry(LoadedPlugins loaded);
  Registry(Registry&&) = default;

  const std::vector<Plugin>& plugins() const { return plugins_; }
  const std::vector<Field>& fields() const { return fields_; }
  // Null when no loaded plugin offers it.
  const Field* find(std::string_view metric) const;
  const std::vector<DerivedDef>& derived() const { return derived_; }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  const RuleBook& rules() const { return rules_; }
  // Plugins that were not taken, and those that some metric was not taken of; one for each file.
  const std::vector<Refusal>& refused() const { return refused_; }

 private:
  void take(const Plugin& plugin);
  void take_offers(const Plugin& plugin, const SourceTable& source);
  void declare(const MetricDef& metric);
  void take_derived(const Plugin& plugin);
  // Notes what is not taken of a plugin: its first fault in words, the others by number.
  void refuse_part(const Plugin& plugin, std::string reason);
  void say_how_many_more();
  // The sentence why `metric` may not be what `plugin` says it is; empty when it may.
  std::string objection(const Plugin& plugin, const MetricDef& metric) const;
  std::string objection(const Plugin& plugin, const DerivedDef& derived) const;
  Field& field(const MetricDef& metric);

  std::vector<Plugin> plugins_;
  std::vector<Field> fields_;
  std::vector<DerivedDef> derived_;
  Vocabulary vocabulary_;
  RuleBook rules_;
  std::vector<Refusal> refused_;
  std::map<std::string, std::size_t> faults_;  // by the plugin's path
};

}  // namespace ctprof
