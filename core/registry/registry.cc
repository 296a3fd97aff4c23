#include "core/registry/registry.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "core/expression/expression.hpp"
#include "core/registry/derived_family.hpp"
#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

// Returns the prefix that the names of a third party must have.
std::string prefix_of(const Plugin& plugin) {
  std::string prefix = plugin.name + "_";
  std::replace(prefix.begin(), prefix.end(), '-', '_');
  return prefix;
}

std::string meaning(const MetricDef& def) {
  return "a " + std::string(name(def.entity)) + "'s " + def.newtype + " under " + def.rule +
         " in " + def.unit;
}

std::string without_prefix(const Plugin& plugin, std::string_view name) {
  return "'" + std::string(name) + "' must begin with '" + prefix_of(plugin) +
         "'; names without a prefix are ctprof's own";
}

// Whether a derived metric may use an input of another entity. Threads and processes are grouped
// together; cgroups and the host have groups of their own.
bool may_be_computed_from(Entity derived, Entity input) {
  const auto grouped_as = [](Entity entity) {
    return entity == Entity::Process ? Entity::Thread : entity;
  };
  return grouped_as(derived) == grouped_as(input);
}

}  // namespace

Registry::Registry(LoadedPlugins loaded)
    : plugins_(std::move(loaded.plugins)), refused_(std::move(loaded.refused)) {
  for (const MetricDef& metric : identity_metrics()) declare(metric);
  // Add layouts first, because their order determines the order of the keys in a file.
  for (const Plugin& plugin : plugins_)
    if (plugin.layout) take(plugin);
  for (const Plugin& plugin : plugins_)
    if (!plugin.layout) take(plugin);
  // Add derived metrics last, because their inputs may come from any plugin.
  for (const Plugin& plugin : plugins_)
    if (!plugin.layout) take_derived(plugin);
  say_how_many_more();
}

const Field* Registry::find(std::string_view metric) const {
  const auto found = field_at_.find(metric);
  return found == field_at_.end() ? nullptr : &fields_[found->second];
}

void Registry::take(const Plugin& plugin) {
  for (const std::string& why : plugin.unserved) refuse_part(plugin, why);
  for (const ctprof_rule& rule : plugin.rules) rules_.add(rule, plugin.name, plugin.path);
  for (const SharedMetric& metric : plugin.declared) {
    const std::string why = objection(plugin, metric);
    why.empty() ? declare(metric) : refuse_part(plugin, why);
  }
  for (const SourceTable& source : plugin.sources)
    source.table.stage < CTPROF_STAGE_EXITED ? take_offers(plugin, source)
                                             : take_recorder(plugin, source);
  for (const std::string& key : plugin.objects)
    if (std::find(vocabulary_.objects.begin(), vocabulary_.objects.end(), key) ==
        vocabulary_.objects.end())
      vocabulary_.objects.push_back(key);
}

void Registry::take_offers(const Plugin& plugin, const SourceTable& source) {
  for (std::uint32_t i = 0; i < source.offers.size(); ++i) {
    const OfferTable& offer = source.offers[i];
    if (!offer.served) continue;
    if (std::string why = objection(plugin, offer.metric); !why.empty()) {
      refuse_part(plugin, std::move(why));
      continue;
    }
    declare(offer.metric);
    auto& offers = field(offer.metric).offers;
    const auto below = std::find_if(offers.begin(), offers.end(),
                                    [&](const Offer& other) { return other.rank < offer.rank; });
    offers.insert(below,
                  Offer{.plugin = &plugin, .source = &source, .index = i, .rank = offer.rank});
  }
}

void Registry::take_recorder(const Plugin& plugin, const SourceTable& source) {
  Recorder recorder{&plugin, &source, INT32_MIN};
  for (const OfferTable& offer : source.offers) {
    recorder.rank = std::max(recorder.rank, offer.rank);
    if (!offer.served) continue;
    if (std::string why = objection(plugin, offer.metric); !why.empty())
      return refuse_part(plugin, std::move(why));
    declare(offer.metric);
  }
  const auto below = std::ranges::find_if(
      recorders_, [&](const Recorder& other) { return other.rank < recorder.rank; });
  recorders_.insert(below, recorder);
}

void Registry::refuse_part(const Plugin& plugin, std::string reason) {
  if (++faults_[plugin.path] == 1) refused_.push_back({plugin.path, std::move(reason)});
}

void Registry::say_how_many_more() {
  for (Refusal& refusal : refused_) {
    const auto faults = faults_.find(refusal.what);
    if (faults == faults_.end() || faults->second < 2) continue;
    const std::size_t more = faults->second - 1;
    refusal.reason +=
        "; and " + std::to_string(more) + (more == 1 ? " more fault" : " more faults") + " like it";
  }
}

void Registry::declare(const SharedMetric& metric) {
  if (metric->hidden || !declared_at_.try_emplace(metric->name, vocabulary_.metrics.size()).second)
    return;
  vocabulary_.metrics.push_back(metric);
}

const MetricDef* Registry::declared(std::string_view name) const {
  const auto found = declared_at_.find(name);
  return found == declared_at_.end() ? nullptr : &*vocabulary_.metrics[found->second];
}

void Registry::take_derived(const Plugin& plugin) {
  for (DerivedDef derived : plugin.derived) {
    std::string why = objection(plugin, derived);
    if (why.empty()) why = objection_to_formula(derived);
    if (!why.empty()) {
      refuse_part(plugin, std::move(why));
      continue;
    }
    const auto same = std::ranges::find(derived_, derived.name, &DerivedDef::name);
    if (same == derived_.end())
      derived_.push_back(std::move(derived));
    else if (same->expression != derived.expression || same->entity != derived.entity)
      refuse_part(plugin, "its derived metric '" + derived.name + "' is '" + derived.expression +
                              "', but '" + same->plugin + "' declares it as '" + same->expression +
                              "'");
  }
}

std::string Registry::objection(const Plugin& plugin, const MetricDef& metric) const {
  if (!metric.role.empty() && !plugin.shipped)
    return "its metric '" + metric.name + "' claims the role '" + metric.role +
           "'; roles are ctprof's own";
  const MetricDef* known = declared(metric.name);
  if (known && !same_meaning(*known, metric))
    return "its metric '" + metric.name + "' is " + meaning(metric) + ", but '" + known->plugin +
           "' declares it as " + meaning(*known);
  if (known || plugin.shipped || metric.hidden) return {};
  if (!metric.name.starts_with(prefix_of(plugin)))
    return "its metric " + without_prefix(plugin, metric.name);
  if (metric.file_path != "none" && metric.file_path != home_place(metric.entity, metric.name))
    return "its metric '" + metric.name + "' claims the path '" + metric.file_path +
           "' in the file; a third party's metric belongs at '" +
           home_place(metric.entity, metric.name) + "'";
  return {};
}

std::string Registry::objection(const Plugin& plugin, const DerivedDef& derived) const {
  if (!plugin.shipped && !derived.name.starts_with(prefix_of(plugin)))
    return "its derived metric " + without_prefix(plugin, derived.name);
  if (!derived.role.empty() && !plugin.shipped)
    return "its derived metric '" + derived.name + "' claims the role '" + derived.role +
           "'; roles are ctprof's own";
  if (declared(derived.name))
    return "its derived metric '" + derived.name + "' has the name of a metric that '" +
           declared(derived.name)->plugin + "' declares";
  return {};
}

bool Registry::is_derived(std::string_view name) const {
  return std::ranges::any_of(plugins_, [&](const Plugin& plugin) {
    return std::ranges::find(plugin.derived, name, &DerivedDef::name) != plugin.derived.end();
  });
}

std::string Registry::objection_to_input(const DerivedDef& derived,
                                         const std::string& input) const {
  const std::string reads = "its derived metric '" + derived.name + "' reads '" + input + "', ";
  const MetricDef* metric = declared(input);
  if (!metric && is_derived(input)) return reads + "which is derived itself; write out its formula";
  if (!metric) return reads + "which no loaded plugin declares";
  if (!may_be_computed_from(derived.entity, metric->entity))
    return "its derived metric '" + derived.name + "' is about a " +
           std::string(name(derived.entity)) + ", but reads '" + input + "', which is about a " +
           std::string(name(metric->entity)) + ": they have no groups in common";
  const ctprof_rule* rule = rules_.find(metric->rule, metric->fallback);
  if (!rule || !rule->number) return reads + "which is not a number";
  return {};
}

// Checks the formula of a derived metric, and sets the family of a valid one.
std::string Registry::objection_to_formula(DerivedDef& derived) const {
  const std::string who = "its derived metric '" + derived.name + "'";
  const auto expression = Expression::parse(derived.expression);
  if (!expression) return who + ": " + expression.error().text;
  std::vector<std::string> units;
  std::vector<FigureKind> kinds;
  for (const Expression::Input& input : expression->inputs()) {
    if (std::string why = objection_to_input(derived, input.name); !why.empty()) return why;
    units.push_back(declared(input.name)->unit);
    kinds.push_back(figure_kind(declared(input.name)->family));
  }
  const auto unit = expression->unit(units);
  if (!unit) return who + ": " + unit.error().text;
  if (*unit != derived.unit)
    return who + " declares the unit " + derived.unit + ", but its formula yields " + *unit;
  const auto family = derived_family(*expression, kinds, derived.family);
  if (!family) return who + ": " + family.error().text;
  if (*family != DerivedFamily::Counter && derived.family == "cumulative")
    return who + " declares the family cumulative, but its formula yields a level";
  derived.family = name(*family);
  return {};
}

Field& Registry::field(const SharedMetric& metric) {
  if (const auto known = field_at_.find(metric->name); known != field_at_.end())
    return fields_[known->second];
  const auto first = declared_at_.find(metric->name);
  fields_.push_back(
      {first == declared_at_.end() ? metric : vocabulary_.metrics[first->second], {}});
  field_at_.emplace(fields_.back().def->name, fields_.size() - 1);
  return fields_.back();
}

std::vector<DerivedDef> Registry::derived_with(std::span<const std::string> recorders) const {
  const auto is_asked = [&](const Plugin& plugin, const SourceTable& source) {
    return std::ranges::any_of(recorders, [&](const std::string& name) {
      return name == plugin.name || name == source.name;
    });
  };
  std::set<std::string, std::less<>> missing;
  for (const Plugin& plugin : plugins_)
    for (const SourceTable& source : plugin.sources)
      if (source.table.stage == CTPROF_STAGE_RECORD && !is_asked(plugin, source))
        for (const OfferTable& offer : source.offers) missing.insert(offer.metric->name);
  std::vector<DerivedDef> derived = derived_;
  std::erase_if(derived, [&](const DerivedDef& each) {
    return std::ranges::any_of(inputs_of(each.expression),
                               [&](const std::string& input) { return missing.contains(input); });
  });
  return derived;
}

}  // namespace ctprof
