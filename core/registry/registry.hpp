// The registry: every metric that any loaded plugin offers, merged by name.
//
// Several plugins may offer one metric (procfs and a BPF iterator both know the run time). The
// registry keeps all offers, the highest rank first. It is built once, after loading, and never
// changes: any thread may read it, and any number of captures may share it.
//
// Two plugins that give one name different meanings (newtype, rule, unit, entity) are in conflict:
// the later one's metric is refused, and the message names both. Also refused are a third party's
// metric without the plugin's prefix, and one that claims another's path in the file. Derived
// metrics are checked last, when all plugins are known: every input must be a metric with a number
// that a loaded plugin declares, no input may be derived itself, and unit and family must come out
// as declared.
//
// What a host can do with it is the job of probed.hpp, what a capture runs that of plan.hpp.

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
#include "core/rules/rule_book.hpp"

namespace ctprof {

// A source offers to fill a metric. Whether it can on this host is probed later (probed.hpp).
struct Offer {
  const Plugin* plugin = nullptr;
  const SourceTable* source = nullptr;
  std::uint32_t index = 0;  // among the source's offers
  std::int32_t rank = 0;
};

// A source that works while a window is open. Its offers are apart from those of captures.
struct Recorder {
  const Plugin* plugin = nullptr;
  const SourceTable* source = nullptr;
  std::int32_t rank = 0;  // the best of its offers
};

struct Field {
  SharedMetric def;
  std::vector<Offer> offers;  // best rank first; of equals the plugin loaded first
};

class Registry {
 public:
  explicit Registry(LoadedPlugins loaded);
  Registry(Registry&&) = default;

  const std::vector<Plugin>& plugins() const { return plugins_; }
  const std::vector<Field>& fields() const { return fields_; }
  // Null if no loaded plugin offers it.
  const Field* find(std::string_view metric) const;
  const std::vector<DerivedDef>& derived() const { return derived_; }
  // Without those that are made of what recorders tell, but for recorders of these names.
  std::vector<DerivedDef> derived_with(std::span<const std::string> recorders) const;
  // Best rank first.
  const std::vector<Recorder>& recorders() const { return recorders_; }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  const RuleBook& rules() const { return rules_; }
  // Plugins that were refused as a whole or in part; one entry per file.
  const std::vector<Refusal>& refused() const { return refused_; }

 private:
  void take(const Plugin& plugin);
  void take_offers(const Plugin& plugin, const SourceTable& source);
  void take_recorder(const Plugin& plugin, const SourceTable& source);
  void declare(const SharedMetric& metric);
  // The declared metric of that name, or null.
  const MetricDef* declared(std::string_view name) const;
  void take_derived(const Plugin& plugin);
  // Records a fault of a plugin: the first by its message, further ones by their number.
  void refuse_part(const Plugin& plugin, std::string reason);
  void say_how_many_more();
  // Why a plugin's definition is refused, or "".
  std::string objection(const Plugin& plugin, const MetricDef& metric) const;
  std::string objection(const Plugin& plugin, const DerivedDef& derived) const;
  std::string objection_to_input(const DerivedDef& derived, const std::string& input) const;
  std::string objection_to_formula(DerivedDef& derived) const;
  bool is_derived(std::string_view name) const;
  Field& field(const SharedMetric& metric);

  std::vector<Plugin> plugins_;
  std::vector<Field> fields_;
  std::unordered_map<std::string_view, std::size_t> field_at_;  // by name, which `fields_` holds
  std::vector<DerivedDef> derived_;
  std::vector<Recorder> recorders_;
  Vocabulary vocabulary_;
  std::unordered_map<std::string_view, std::size_t> declared_at_;  // likewise
  RuleBook rules_;
  std::vector<Refusal> refused_;
  std::map<std::string, std::size_t> faults_;  // by the plugin's path
};

}  // namespace ctprof
