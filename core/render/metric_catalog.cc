#include "core/render/metric_catalog.hpp"

#include <algorithm>
#include <utility>

#include "core/base/split.hpp"
#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

template <class Def>
const Def* named(const std::vector<Def>& all, std::string_view name) {
  const auto it =
      std::find_if(all.begin(), all.end(), [&](const Def& def) { return def.name == name; });
  return it == all.end() ? nullptr : &*it;
}

std::vector<std::string> offering_plugins(const Field& field) {
  std::vector<std::string> names;
  for (const Offer& offer : field.offers) names.push_back(offer.plugin->name);
  return names;
}

}  // namespace

MetricCatalog::MetricCatalog(const RuleBook& rules)
    : metrics_(identity_metrics()), rules_(&rules) {}

MetricCatalog MetricCatalog::of(const Registry& registry) {
  MetricCatalog catalog(registry.rules());
  for (const Field& field : registry.fields()) catalog.add(field.def, offering_plugins(field));
  for (const MetricDef& def : registry.vocabulary().metrics)
    if (!def.hidden && !named(catalog.metrics_, def.name)) catalog.unoffered_.push_back(def);
  catalog.derived_ = registry.derived();
  return catalog;
}

MetricCatalog MetricCatalog::of(const Snapshot& snapshot, const RuleBook& rules) {
  MetricCatalog catalog(rules);
  for (const Table& table : snapshot.tables)
    for (const Column& column : table.columns) {
      const std::string& plugin = column.provenance.plugin;
      catalog.add(column.def(), plugin.empty() ? std::vector<std::string>{} : std::vector{plugin});
    }
  catalog.derived_ = snapshot.derived;
  return catalog;
}

// Who brings a metric is who offers it, though another may have declared it.
void MetricCatalog::add(MetricDef def, std::vector<std::string> fillers) {
  if (def.hidden || named(metrics_, def.name)) return;
  def.plugin = joined(fillers, ",");
  fillers_[def.name] = std::move(fillers);
  metrics_.push_back(std::move(def));
}

const MetricDef* MetricCatalog::find(std::string_view name) const {
  const MetricDef* listed = named(metrics_, name);
  return listed ? listed : named(unoffered_, name);
}

const DerivedDef* MetricCatalog::find_derived(std::string_view name) const {
  return named(derived_, name);
}

std::vector<std::string> MetricCatalog::fillers(const std::string& name) const {
  const auto it = fillers_.find(name);
  return it == fillers_.end() ? std::vector<std::string>{} : it->second;
}

std::vector<std::string> MetricCatalog::names() const {
  std::vector<std::string> names;
  for (const MetricDef& def : metrics_) names.push_back(def.name);
  for (const MetricDef& def : unoffered_) names.push_back(def.name);
  for (const DerivedDef& def : derived_) names.push_back(def.name);
  return names;
}

}  // namespace ctprof
