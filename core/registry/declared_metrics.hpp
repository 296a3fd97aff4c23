// The metric definitions that ctprof's own layouts declare. A plugin that offers a metric with an
// identical declaration shares the definition instead of creating another one: hundreds of metrics
// are offered, with the same texts.

#pragma once

#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/registry/metric_def.hpp"
#include "ctprof/abi.h"

namespace ctprof {

// Not thread-safe.
class DeclaredMetrics {
 public:
  // Adds a declaration and its definition. The first declaration of a name counts. REQUIRES:
  // `declaration` was checked, and its texts stay valid, as those of a plugin do, which is never
  // unloaded.
  void add(const ctprof_metric& declaration, const SharedMetric& definition);
  // Adds all declarations of another object.
  void add(DeclaredMetrics other) { metrics_.merge(other.metrics_); }
  // Returns the definition of an identical declaration, or null.
  const SharedMetric* find(const ctprof_metric& declaration) const;

 private:
  std::unordered_map<std::string_view, std::pair<ctprof_metric, SharedMetric>> metrics_;
};

}  // namespace ctprof
