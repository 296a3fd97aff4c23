#include "core/file/layout/unknown_definitions.hpp"

#include <utility>

#include "core/file/layout/layout.hpp"
#include "core/file/layout/members.hpp"
#include "core/file/layout/scanner.hpp"
#include "ctprof/newtypes.hpp"

namespace ctprof {
namespace {

// In how many objects and arrays of the file their members stand.
constexpr std::size_t kDepthOfRegistry = 2, kDepthOfItem = 4;

// Where its cells are below a row, as they are kept.
std::string path_of(const KeptMembers& metric, Entity entity) {
  std::string path;
  const Place place = parse_place(text_in(metric, "file_path"));
  if (place.root == Root::None || place.root != root_of(entity))
    append_to_path(path, text_in(metric, "name"));
  else
    for (const std::string& key : place.keys) append_to_path(path, key);
  return path;
}

UnknownMetric unknown_metric(const KeptMembers& metric, std::string_view json) {
  UnknownMetric made;
  made.name = text_in(metric, "name");
  parse(text_in(metric, "entity"), made.entity);
  made.path = path_of(metric, made.entity);
  made.definition = compact(json);
  return made;
}

// A headline that is none to this version is kept as well.
KeptMembers beyond(const KeptMembers& metric, const std::optional<Headline>& headline,
                   KeptMembers unknown) {
  const auto found = metric.find("headline");
  if (!headline && found != metric.end()) unknown.insert(*found);
  return unknown;
}

const RegistryPart::Metric* find(const RegistryPart& registry, std::string_view name) {
  for (const RegistryPart::Metric& metric : registry.metrics)
    if (metric.def.name == name) return &metric;
  return nullptr;
}

// Each has a name and a place of its own.
Result<void> keep_metric(UnknownMetric metric, std::vector<UnknownMetric>& metrics) {
  for (const UnknownMetric& other : metrics)
    if (other.name == metric.name || (other.entity == metric.entity && other.path == metric.path))
      return Error{"registry.metrics has '" + metric.name.substr(0, 40) + "' twice"};
  metrics.push_back(std::move(metric));
  return {};
}

Result<void> keep_of_metric(std::string_view json, RegistryPart& registry) {
  const auto members = parse_members(json, kDepthOfItem);
  if (!members) return Error{"registry.metrics is wrong: " + members.error().text};
  const RegistryPart::Metric* known = find(registry, text_in(*members, "name"));
  if (!known) return keep_metric(unknown_metric(*members, json), registry.unknown.metrics);
  KeptMembers kept =
      beyond(*members, known->def.headline, unknown_to<RegistryPart::Metric>(*members));
  if (!kept.empty()) registry.unknown.of_metrics[known->def.name] = std::move(kept);
  return {};
}

Result<void> keep_of_derived(std::string_view json, const DerivedDef& def, RegistryPart& registry) {
  const auto members = parse_members(json, kDepthOfItem);
  if (!members) return Error{"registry.derived is wrong: " + members.error().text};
  KeptMembers kept = beyond(*members, def.headline, unknown_to<DerivedDef>(*members));
  if (!kept.empty()) registry.unknown.of_derived[def.name] = std::move(kept);
  return {};
}

}  // namespace

Result<void> keep_unknown(std::string_view json, RegistryPart& registry) {
  auto members = parse_members(json, kDepthOfRegistry);
  if (!members) return Error{"registry is wrong: " + members.error().text};
  for (const std::string_view item : items_of((*members)["metrics"]))
    if (auto done = keep_of_metric(item, registry); !done) return done;
  const auto derived = items_of((*members)["derived"]);
  for (std::size_t i = 0; i < derived.size(); ++i)
    if (auto done = keep_of_derived(derived[i], registry.derived[i], registry); !done) return done;
  for (const char* known : {"metrics", "derived", "placeholders"}) members->erase(known);
  registry.unknown.members = std::move(*members);
  return {};
}

}  // namespace ctprof
