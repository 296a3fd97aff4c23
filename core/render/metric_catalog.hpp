// The metrics that a list or a help page is about: those of the loaded plugins, or of one file.
//
// A catalog copies the definitions and refers to the rules, which outlive it.

#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/registry/registry.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

class MetricCatalog {
 public:
  // What loaded plugins declare and offer; hidden metrics are left out.
  static MetricCatalog of(const Registry& registry);
  // What a file says of its own metrics; a metric's filler is the plugin that filled its column.
  static MetricCatalog of(const Snapshot& snapshot, const RuleBook& rules);

  // Listed: the identity columns, and what some plugin offers or the file has a column for.
  const std::vector<MetricDef>& metrics() const { return metrics_; }
  const std::vector<DerivedDef>& derived() const { return derived_; }
  const RuleBook& rules() const { return *rules_; }

  // Null where there is none of that name. Metrics that are declared, and that nobody offers, are
  // found too.
  const MetricDef* find(std::string_view name) const;
  const DerivedDef* find_derived(std::string_view name) const;
  // The plugins that can fill it, the preferred one first; of a file, the one that did.
  std::vector<std::string> fillers(const std::string& name) const;
  // Every name that can be found.
  std::vector<std::string> names() const;

 private:
  explicit MetricCatalog(const RuleBook& rules);
  void add(MetricDef def, std::vector<std::string> fillers);

  std::vector<MetricDef> metrics_;
  std::vector<MetricDef> unoffered_;
  std::vector<DerivedDef> derived_;
  std::map<std::string, std::vector<std::string>> fillers_;
  const RuleBook* rules_;
};

}  // namespace ctprof
