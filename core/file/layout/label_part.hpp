// The labels of maps in the file's `registry`:
//
//   "labels":{"disk_moved_bytes":"device,direction"}
//
// They are not in the definitions of metrics, because versions without labels do not read an entity
// of a plugin whose definitions have unknown fields. Those versions keep this member as text, and
// read the maps as maps of plain keys. This version keeps labels of metrics that it does not know,
// and labels that it cannot use.
//
// See also: registry_part.hpp for the other members; core/registry/map_labels.hpp for labels.

#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/json_writer.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/file_extras.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

inline constexpr std::string_view kLabelsKey = "labels";

// The labels of metrics, by name.
using LabelsByMetric = std::map<std::string, std::string, std::less<>>;

// Returns the labels of all columns of the snapshot that are not hidden.
LabelsByMetric labels_of(const Snapshot& snapshot);

// Moves labels from the unknown members of a registry into definitions.
class LabelTaker {
 public:
  // REQUIRES: the members outlive this object.
  explicit LabelTaker(KeptMembers& registry);

  // Sets the labels of the definition if there are valid ones for it.
  void take(MetricDef& def);
  // Removes the labels that were taken from the members. Call it when the definitions are accepted.
  void commit();

 private:
  KeptMembers* registry_;
  std::optional<KeptMembers> labels_;  // those that were not taken
};

// Writes the member and a comma: these labels, and those that the unknown members of a registry
// have; nothing if there are none.
void write_labels(const LabelsByMetric& labels, const KeptMembers& registry, JsonWriter& out);

}  // namespace ctprof
