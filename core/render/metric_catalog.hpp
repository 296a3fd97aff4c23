// Lists the metrics of the loaded plugins or of one file, for `metric-list` and help pages, as text
// and as JSON.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/registry/registry.hpp"
#include "core/render/terminal_text.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// The metrics that a list or a help page describes. Definitions are copied. REQUIRES: the rules
// outlive this object.
class MetricCatalog {
 public:
  // Returns the metrics that loaded plugins declare and offer, without hidden ones.
  static MetricCatalog from_registry(const Registry& registry);
  // Returns the metrics that a file describes.
  static MetricCatalog from_snapshot(const Snapshot& snapshot, const RuleSet& rules);

  // Returns the metrics to list: identity columns, and metrics that a plugin offers or the file has
  // a column for.
  const std::vector<MetricDef>& metrics() const { return metrics_; }
  const std::vector<DerivedDef>& derived_metrics() const { return derived_; }
  const RuleSet& rules() const { return *rules_; }

  // Returns null if no metric has this name. Also finds metrics that are declared but not offered
  // by any plugin.
  const MetricDef* find(std::string_view name) const;
  const DerivedDef* find_derived(std::string_view name) const;
  // Returns the name of the metric that the first screen shows in the column with this label.
  std::optional<std::string> find_column_metric(std::string_view label) const;
  // Returns the plugins that can fill the metric, the preferred one first; for a file, the one that
  // did.
  std::vector<std::string> get_plugins(const std::string& name) const;
  // Returns all names that find() and find_derived() know.
  std::vector<std::string> get_all_names() const;

 private:
  explicit MetricCatalog(const RuleSet& rules);
  void add(MetricDef def, std::vector<std::string> plugins);

  std::vector<MetricDef> metrics_;
  std::vector<MetricDef> unoffered_;
  std::vector<DerivedDef> derived_;
  std::map<std::string, std::vector<std::string>> plugins_;
  const RuleSet* rules_;
};

// Lists metrics by section: a line of facts for each metric, then its description and source.
std::string format_metric_list(const MetricCatalog& catalog, const TextLayout& layout);
// Returns {"schema":1,"metrics":[{name, entity, newtype, rule, unit, family, section, tags, plugin,
// description, caveat}]}, with `labels` for a map that has any.
std::string format_metric_list_json(const MetricCatalog& catalog);

}  // namespace ctprof
