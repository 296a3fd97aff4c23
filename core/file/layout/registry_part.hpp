// The file's `registry`: the definitions with which it is read, so that no plugin is needed.
//
//   {"metrics": [{"name": ..., all fields of the definition, and which source filled it}],
//    "derived": [...],
//    "placeholders": ["threads[].nr_wakeups", ...],
//    "labels": {...}}                               (label_part.hpp)
//
// Placeholders are keys that the file contains only for the reference's layout: metrics that the
// snapshot lacks, and marks.
//
// Contents: writing and reading the object. Reading checks it, so that no file can create a column
// with an unexpected type or meaning, and keeps the parts that this version does not know.
//
// See also: row_filler.hpp for the columns.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"
#include "core/file/layout/field_reader.hpp"
#include "core/file/layout/fields.hpp"
#include "core/file/layout/label_part.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/file_extras.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// The parsed registry of a file.
struct RegistryPart {
  struct Metric {
    MetricDef def;
    Provenance provenance;
  };
  std::vector<Metric> metrics;
  std::vector<DerivedDef> derived;
  std::vector<std::string> placeholders;
  LabelsByMetric labels{};  // only for writing; reading sets MetricDef::labels
  UnknownDefinitions unknown;
};

// In the file, definition and provenance of a metric are one object.
template <SameOrConst<RegistryPart::Metric> T, class Visitor>
void each_field(T& metric, Visitor&& visit) {
  each_field(metric.def, visit);
  each_field(metric.provenance, visit);
}

// Refers to the definitions of a snapshot without copying them: each has about 1 KiB of text.
struct RegistryView {
  struct Metric {
    const MetricDef* def;
    const Provenance* provenance;
  };
  std::vector<Metric> metrics;
  std::span<const DerivedDef> derived;
  std::span<const std::string> placeholders;
  const UnknownDefinitions& unknown;
  LabelsByMetric labels{};
};

template <SameOrConst<RegistryView::Metric> T, class Visitor>
void each_field(T& metric, Visitor&& visit) {
  each_field(*metric.def, visit);
  each_field(*metric.provenance, visit);
}

void write_registry(const RegistryPart& registry, JsonWriter& out);
void write_registry(const RegistryView& registry, JsonWriter& out);

// Reads a registry. Metrics with an unknown entity, storage or newtype, derived metrics of an
// unknown entity, and headlines of an unknown kind are only in RegistryPart::unknown.
Result<RegistryPart> read_registry(
    std::string_view json, FieldReader::EntityWords entity_words = FieldReader::EntityWords::Read);

}  // namespace ctprof
