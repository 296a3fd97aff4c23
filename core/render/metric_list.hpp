// All metrics of a catalog, with what is to be known of each, as text and as JSON.

#pragma once

#include <string>

#include "core/render/metric_catalog.hpp"
#include "core/render/text_table.hpp"

namespace ctprof {

// By section; a line of facts for each metric, and its description and source below.
std::string metric_list_text(const MetricCatalog& catalog, const TextLayout& layout);
// {"schema":1,"metrics":[{name, entity, newtype, rule, unit, family, section, tags, plugin,
// description, caveat}]}
std::string metric_list_json(const MetricCatalog& catalog);

}  // namespace ctprof
