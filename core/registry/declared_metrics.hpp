// What layouts of ctprof's own declare, word for word. A plugin that offers such a metric in the
// same words shares the definition, rather than having one of its own: hundreds are offered, by the
// same few texts.

#pragma once

#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/registry/metric_def.hpp"
#include "ctprof/abi.h"

namespace ctprof {

// Threads: one at a time.
class DeclaredMetrics {
 public:
  // The first of a name counts. REQUIRES: checked; its texts stay where they are, as those of a
  // plugin do, which is never unloaded.
  void add(const ctprof_metric& given, const SharedMetric& made);
  // Adds what another one has.
  void add(DeclaredMetrics others) { all_.merge(others.all_); }
  // Null where none says exactly the same.
  const SharedMetric* find(const ctprof_metric& given) const;

 private:
  std::unordered_map<std::string_view, std::pair<ctprof_metric, SharedMetric>> all_;
};

}  // namespace ctprof
