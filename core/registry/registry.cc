#include "core/registry/registry.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "core/base/text.hpp"
#include "core/expression/expression.hpp"
#include "core/registry/derived_family.hpp"
#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

// Returns the prefix that names in a third-party plugin must have.
std::string required_prefix(const Plugin& plugin) {
  std::string prefix = plugin.name + "_";
  std::replace(prefix.begin(), prefix.end(), '-', '_');
  return prefix;
}

std::string describe_meaning(const MetricDef& def) {
  return "a " + std::string(name(def.entity)) + "'s " + def.newtype + " under " + def.rule +
         " in " + def.unit;
}

std::string missing_prefix_message(const Plugin& plugin, std::string_view name) {
  return "'" + std::string(name) + "' must begin with '" + required_prefix(plugin) +
         "'; names without a prefix are reserved for ctprof";
}

// Returns whether a derived metric may use an input of another entity. Threads and processes are
// grouped together; cgroups and the host have groups of their own.
bool may_be_computed_from(Entity derived, Entity input) {
  const auto grouping_entity = [](Entity entity) {
    return entity == Entity::Process ? Entity::Thread : entity;
  };
  return grouping_entity(derived) == grouping_entity(input);
}

}  // namespace

Registry::Registry(LoadedPlugins loaded)
    : plugins_(std::move(loaded.plugins)), refusals_(std::move(loaded.refusals)) {
  for (const MetricDef& metric : identity_metrics()) add_declaration(metric);
  // Add layouts first, because their order determines the order of the keys in a file.
  for (const Plugin& plugin : plugins_)
    if (plugin.is_layout) add_plugin(plugin);
  for (const Plugin& plugin : plugins_)
    if (!plugin.is_layout) add_plugin(plugin);
  add_sources_of_entities();
  // Add derived metrics last, because their inputs may come from any plugin.
  for (const Plugin& plugin : plugins_)
    if (!plugin.is_layout) add_derived_metrics(plugin);
  append_fault_counts();
}

const OfferedMetric* Registry::find(std::string_view metric) const {
  const auto found = offered_metric_index_.find(metric);
  return found == offered_metric_index_.end() ? nullptr : &offered_metrics_[found->second];
}

void Registry::add_plugin(const Plugin& plugin) {
  for (const std::string& fault : plugin.unsupported_parts) record_fault(plugin, fault);
  for (const ctprof_rule& rule : plugin.rules) rules_.add(rule, plugin.name, plugin.path);
  for (const SharedMetric& metric : plugin.declared_metrics) {
    const std::string fault = find_metric_fault(plugin, metric);
    fault.empty() ? add_declaration(metric) : record_fault(plugin, fault);
  }
  for (const SourceTable& source : plugin.sources)
    if (!has_plugin_entity(source.table.stage))
      works_in_window(source.table.stage) ? add_recorder(plugin, source)
                                          : add_offers(plugin, source);
  for (const std::string& key : plugin.objects)
    if (std::find(vocabulary_.objects.begin(), vocabulary_.objects.end(), key) ==
        vocabulary_.objects.end())
      vocabulary_.objects.push_back(key);
}

const PluginEntity* Registry::find_entity(Entity entity) const {
  const auto found = std::ranges::find(entities_, entity, &PluginEntity::entity);
  return found == entities_.end() ? nullptr : &*found;
}

std::string Registry::find_entity_fault(const Plugin& plugin, const SourceTable& source) const {
  const std::string entity(name(source.entity));
  const std::string prefix = required_prefix(plugin);
  if (!plugin.is_shipped && entity + "_" != prefix && !entity.starts_with(prefix))
    return "its source '" + source.name + "' lists rows of the entity '" + entity +
           "', whose name must be '" + prefix.substr(0, prefix.size() - 1) + "' or begin with '" +
           prefix + "'; other names are ctprof's own";
  const PluginEntity* existing = find_entity(source.entity);
  if (!existing) return {};
  return "its source '" + source.name + "' lists rows of the entity '" + entity +
         "', which the source '" + existing->lister->name + "' of '" + existing->plugin->name +
         "' lists already";
}

// Adds the sources of entities of plugins: first those that list rows, which the others require.
void Registry::add_sources_of_entities() {
  const auto for_each_source = [&](ctprof_stage stage, auto add) {
    for (const Plugin& plugin : plugins_)
      for (const SourceTable& source : plugin.sources)
        if (source.table.stage == stage) add(plugin, source);
  };
  for_each_source(CTPROF_STAGE_ENTITY_LIST, [&](const Plugin& plugin, const SourceTable& source) {
    if (std::string fault = find_entity_fault(plugin, source); !fault.empty())
      return record_fault(plugin, std::move(fault));
    entities_.push_back({source.entity, &plugin, &source});
    add_offers(plugin, source);
  });
  for_each_source(CTPROF_STAGE_ENTITY, [&](const Plugin& plugin, const SourceTable& source) {
    if (find_entity(source.entity)) return add_offers(plugin, source);
    record_fault(plugin, "its source '" + source.name + "' fills rows of the entity '" +
                             std::string(name(source.entity)) + "', which no loaded plugin lists");
  });
}

void Registry::add_offers(const Plugin& plugin, const SourceTable& source) {
  for (std::uint32_t i = 0; i < source.offers.size(); ++i) {
    const OfferTable& offer = source.offers[i];
    if (!offer.is_supported) continue;
    if (std::string fault = find_metric_fault(plugin, offer.metric); !fault.empty()) {
      record_fault(plugin, std::move(fault));
      continue;
    }
    add_declaration(offer.metric);
    auto& offers = find_or_add_offered_metric(offer.metric).offers;
    const auto first_lower_rank = std::find_if(
        offers.begin(), offers.end(), [&](const Offer& other) { return other.rank < offer.rank; });
    offers.insert(first_lower_rank,
                  Offer{.plugin = &plugin, .source = &source, .index = i, .rank = offer.rank});
  }
}

void Registry::add_recorder(const Plugin& plugin, const SourceTable& source) {
  Recorder recorder{&plugin, &source, INT32_MIN};
  for (const OfferTable& offer : source.offers) {
    recorder.rank = std::max(recorder.rank, offer.rank);
    if (!offer.is_supported) continue;
    if (std::string fault = find_metric_fault(plugin, offer.metric); !fault.empty())
      return record_fault(plugin, std::move(fault));
    add_declaration(offer.metric);
  }
  const auto first_lower_rank = std::ranges::find_if(
      recorders_, [&](const Recorder& other) { return other.rank < recorder.rank; });
  recorders_.insert(first_lower_rank, recorder);
}

void Registry::record_fault(const Plugin& plugin, std::string reason) {
  if (++fault_counts_[plugin.path] == 1) refusals_.push_back({plugin.path, std::move(reason)});
}

void Registry::append_fault_counts() {
  for (Refusal& refusal : refusals_) {
    const auto faults = fault_counts_.find(refusal.subject);
    if (faults == fault_counts_.end() || faults->second < 2) continue;
    const std::size_t more = faults->second - 1;
    refusal.reason += "; and " + format_count(more, "more fault") + " like it";
  }
}

void Registry::add_declaration(const SharedMetric& metric) {
  if (metric->is_hidden ||
      !declaration_index_.try_emplace(metric->name, vocabulary_.metrics.size()).second)
    return;
  vocabulary_.metrics.push_back(metric);
}

const MetricDef* Registry::find_declared(std::string_view name) const {
  const auto found = declaration_index_.find(name);
  return found == declaration_index_.end() ? nullptr : &*vocabulary_.metrics[found->second];
}

void Registry::add_derived_metrics(const Plugin& plugin) {
  for (DerivedDef derived : plugin.derived_metrics) {
    std::string fault = find_metric_fault(plugin, derived);
    if (fault.empty()) fault = check_formula(derived);
    if (!fault.empty()) {
      record_fault(plugin, std::move(fault));
      continue;
    }
    const auto existing = std::ranges::find(derived_metrics_, derived.name, &DerivedDef::name);
    if (existing == derived_metrics_.end())
      derived_metrics_.push_back(std::move(derived));
    else if (existing->expression != derived.expression || existing->entity != derived.entity)
      record_fault(plugin, "its derived metric '" + derived.name + "' is '" + derived.expression +
                               "', but '" + existing->plugin + "' declares it as '" +
                               existing->expression + "'");
  }
}

std::string Registry::find_metric_fault(const Plugin& plugin, const MetricDef& metric) const {
  if (!metric.role.empty() && !plugin.is_shipped)
    return "its metric '" + metric.name + "' claims the role '" + metric.role +
           "'; only plugins of ctprof may claim roles";
  const MetricDef* existing = find_declared(metric.name);
  if (existing && !has_same_meaning(*existing, metric))
    return "its metric '" + metric.name + "' is " + describe_meaning(metric) + ", but '" +
           existing->plugin + "' declares it as " + describe_meaning(*existing);
  if (existing || plugin.is_shipped || metric.is_hidden) return {};
  if (!metric.name.starts_with(required_prefix(plugin)))
    return "its metric " + missing_prefix_message(plugin, metric.name);
  if (metric.file_path != "none" &&
      metric.file_path != default_file_path(metric.entity, metric.name))
    return "its metric '" + metric.name + "' claims the path '" + metric.file_path +
           "' in the file; a third party's metric belongs at '" +
           default_file_path(metric.entity, metric.name) + "'";
  return {};
}

std::string Registry::find_metric_fault(const Plugin& plugin, const DerivedDef& derived) const {
  if (!plugin.is_shipped && !derived.name.starts_with(required_prefix(plugin)))
    return "its derived metric " + missing_prefix_message(plugin, derived.name);
  if (!derived.role.empty() && !plugin.is_shipped)
    return "its derived metric '" + derived.name + "' claims the role '" + derived.role +
           "'; only plugins of ctprof may claim roles";
  if (find_declared(derived.name))
    return "its derived metric '" + derived.name + "' has the name of a metric that '" +
           find_declared(derived.name)->plugin + "' declares";
  return {};
}

bool Registry::is_derived(std::string_view name) const {
  return std::ranges::any_of(plugins_, [&](const Plugin& plugin) {
    return std::ranges::find(plugin.derived_metrics, name, &DerivedDef::name) !=
           plugin.derived_metrics.end();
  });
}

std::string Registry::find_input_fault(const DerivedDef& derived, const std::string& input) const {
  const std::string message_start =
      "its derived metric '" + derived.name + "' reads '" + input + "', ";
  const MetricDef* metric = find_declared(input);
  if (!metric && is_derived(input))
    return message_start + "which is derived itself; write out its formula";
  if (!metric) return message_start + "which no loaded plugin declares";
  if (!may_be_computed_from(derived.entity, metric->entity))
    return "its derived metric '" + derived.name + "' is about a " +
           std::string(name(derived.entity)) + ", but reads '" + input + "', which is about a " +
           std::string(name(metric->entity)) + ": they have no groups in common";
  const ctprof_rule* rule = rules_.find(metric->rule, metric->fallback);
  if (!rule || !rule->number) return message_start + "which is not a number";
  return {};
}

// Checks the formula of a derived metric, and sets the family of a valid one.
std::string Registry::check_formula(DerivedDef& derived) const {
  const std::string subject = "its derived metric '" + derived.name + "'";
  const auto expression = Expression::parse(derived.expression);
  if (!expression) return subject + ": " + expression.error().text;
  std::vector<std::string> units;
  std::vector<FigureKind> kinds;
  for (const Expression::Input& input : expression->inputs()) {
    if (std::string fault = find_input_fault(derived, input.name); !fault.empty()) return fault;
    units.push_back(find_declared(input.name)->unit);
    kinds.push_back(kind_of_family(find_declared(input.name)->family));
  }
  const auto unit = expression->unit(units);
  if (!unit) return subject + ": " + unit.error().text;
  if (*unit != derived.unit)
    return subject + " declares the unit " + derived.unit + ", but its formula yields " + *unit;
  const auto family = derived_family(*expression, kinds, derived.family);
  if (!family) return subject + ": " + family.error().text;
  if (*family != DerivedFamily::Counter && derived.family == "cumulative")
    return subject + " declares the family cumulative, but its formula yields a level";
  derived.family = name(*family);
  return {};
}

OfferedMetric& Registry::find_or_add_offered_metric(const SharedMetric& metric) {
  if (const auto existing = offered_metric_index_.find(metric->name);
      existing != offered_metric_index_.end())
    return offered_metrics_[existing->second];
  const auto declaration = declaration_index_.find(metric->name);
  offered_metrics_.push_back(
      {declaration == declaration_index_.end() ? metric : vocabulary_.metrics[declaration->second],
       {}});
  offered_metric_index_.emplace(offered_metrics_.back().def->name, offered_metrics_.size() - 1);
  return offered_metrics_.back();
}

std::vector<DerivedDef> Registry::derived_metrics_for(
    std::span<const std::string> recorders) const {
  const auto is_requested = [&](const Plugin& plugin, const SourceTable& source) {
    return std::ranges::any_of(recorders, [&](const std::string& name) {
      return name == plugin.name || name == source.name;
    });
  };
  std::set<std::string, std::less<>> missing_inputs;
  for (const Plugin& plugin : plugins_)
    for (const SourceTable& source : plugin.sources)
      if (source.table.stage == CTPROF_STAGE_RECORD && !is_requested(plugin, source))
        for (const OfferTable& offer : source.offers) missing_inputs.insert(offer.metric->name);
  std::vector<DerivedDef> derived = derived_metrics_;
  std::erase_if(derived, [&](const DerivedDef& derived_metric) {
    return std::ranges::any_of(inputs_of(derived_metric.expression), [&](const std::string& input) {
      return missing_inputs.contains(input);
    });
  });
  return derived;
}

}  // namespace ctprof
