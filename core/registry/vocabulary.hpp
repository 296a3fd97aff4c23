// The vocabulary: every metric that loaded plugins declare, offered or not; what shapes a file and
// reads a foreign one.
//
// A file must have the reference's keys even where nobody filled them, and a file without a
// registry of its own still has typed columns. Both come from here. It is data that plugins bring;
// the core names no metric.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/registry/metric_def.hpp"

namespace ctprof {

struct Vocabulary {
  std::vector<MetricDef> metrics;
  std::vector<std::string>
      objects;  // top-level keys of the file that are null when nobody fills them

  // Null when there is none of that name.
  const MetricDef* find(std::string_view name) const;
};

}  // namespace ctprof
