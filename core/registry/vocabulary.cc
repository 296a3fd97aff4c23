#include "core/registry/vocabulary.hpp"

#include <algorithm>

namespace ctprof {

const MetricDef* Vocabulary::find(std::string_view name) const {
  const auto it = std::find_if(metrics.begin(), metrics.end(),
                               [&](const MetricDef& def) { return def.name == name; });
  return it == metrics.end() ? nullptr : &*it;
}

}  // namespace ctprof
