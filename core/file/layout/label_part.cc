#include "core/file/layout/label_part.hpp"

#include <optional>
#include <utility>

#include "core/base/json_scanner.hpp"
#include "core/file/layout/members.hpp"
#include "core/registry/map_labels.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kDepthOfLabels = 3;  // nesting depth of the labels of one metric

// Returns the labels by metric as JSON; nothing if the registry has none, or if they are not an
// object.
std::optional<KeptMembers> parse_labels(const KeptMembers& registry) {
  const auto found = registry.find(kLabelsKey);
  if (found == registry.end()) return std::nullopt;
  auto labels = parse_members(found->second, kDepthOfLabels);
  return labels ? std::optional(std::move(*labels)) : std::nullopt;
}

}  // namespace

LabelsByMetric labels_of(const Snapshot& snapshot) {
  LabelsByMetric labels;
  for (const Table& table : snapshot.tables)
    for (const Column& column : table.columns)
      if (!column.def().is_hidden && !column.def().labels.empty())
        labels.emplace(column.def().name, column.def().labels);
  return labels;
}

LabelTaker::LabelTaker(KeptMembers& registry)
    : registry_(&registry), labels_(parse_labels(registry)) {}

void LabelTaker::take(MetricDef& def) {
  if (!labels_) return;
  const auto found = labels_->find(def.name);
  if (found == labels_->end() || !found->second.starts_with('"')) return;
  std::string labels(Scanner(found->second).text());
  if (!has_valid_labels(def, labels)) return;
  def.labels = std::move(labels);
  labels_->erase(found);
}

void LabelTaker::commit() {
  if (!labels_) return;
  const auto found = registry_->find(kLabelsKey);
  if (labels_->empty())
    registry_->erase(found);
  else
    found->second = to_object(*labels_);
}

void write_labels(const LabelsByMetric& labels, const KeptMembers& registry, JsonWriter& out) {
  KeptMembers all = parse_labels(registry).value_or(KeptMembers{});
  for (const auto& [metric, text] : labels) {
    JsonWriter json;
    json.text(text);
    all.insert_or_assign(metric, std::string(json.view()));
  }
  const auto kept = registry.find(kLabelsKey);
  if (all.empty() && kept == registry.end()) return;
  out.key(kLabelsKey);
  out.raw(all.empty() ? kept->second : to_object(all));
  out.put(',');
}

}  // namespace ctprof
