// All metrics that there are, with what is to be known of each, as text and as JSON.

#pragma once

#include <span>
#include <string>

#include "core/registry/metric_def.hpp"
#include "core/render/text_table.hpp"

namespace ctprof {

struct MetricList {
  std::vector<MetricDef> metrics;
  std::vector<DerivedDef> derived;
};

// By section; a line of facts for each metric, and its description and source below.
std::string metric_list_text(const MetricList& list, const TextLayout& layout);
// {"schema":1,"metrics":[{name, entity, newtype, rule, unit, family, section, tags, plugin,
// description, caveat}]}
std::string metric_list_json(const MetricList& list);

}  // namespace ctprof
