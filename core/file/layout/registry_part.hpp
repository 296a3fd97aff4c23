// The file's `registry`: the definitions that it is read by, so that it needs no plugin.
//
//   {"metrics": [{"name": ..., every field of the definition, and who filled it}],
//    "derived": [...],
//    "placeholders": ["threads[].nr_wakeups", ...]}
//
// Placeholders are keys that are in the file for the layout's sake only: metrics that the
// snapshot lacks, and marks.
//
// What is here:   the object as text, and back, checked: nothing that it says can make a column
// other than its users expect; and what in it this version does not know, kept.
// What is not:    the columns (row_filler.hpp).

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"
#include "core/file/layout/fields.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

struct RegistryPart {
  struct Metric {
    MetricDef def;
    Provenance provenance;
  };
  std::vector<Metric> metrics;
  std::vector<DerivedDef> derived;
  std::vector<std::string> placeholders;
  UnknownDefinitions unknown;
};

// A metric's two objects are one in the file.
template <Of<RegistryPart::Metric> T, class Visitor>
void each_field(T& metric, Visitor&& visit) {
  each_field(metric.def, visit);
  each_field(metric.provenance, visit);
}

// The same of a snapshot as it is, without copies: a definition is a kilobyte of texts.
struct RegistryView {
  struct Metric {
    const MetricDef* def;
    const Provenance* provenance;
  };
  std::vector<Metric> metrics;
  std::span<const DerivedDef> derived;
  std::span<const std::string> placeholders;
  const UnknownDefinitions& unknown;
};

template <Of<RegistryView::Metric> T, class Visitor>
void each_field(T& metric, Visitor&& visit) {
  each_field(*metric.def, visit);
  each_field(*metric.provenance, visit);
}

void write_registry(const RegistryPart& registry, JsonWriter& out);
void write_registry(const RegistryView& registry, JsonWriter& out);

// A metric whose entity, storage or newtype this version does not know is left out of the metrics,
// as are a derived metric of an unknown entity and a headline of an unknown kind; all are among
// what is unknown.
Result<RegistryPart> read_registry(std::string_view json);

}  // namespace ctprof
