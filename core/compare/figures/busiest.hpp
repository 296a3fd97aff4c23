// The busiest thread of a group: whose reading is the largest of those that a sum or a maximum is
// made of.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/compare/figures/members.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/rollup.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

struct Busiest {
  std::uint64_t tid = 0;
  std::string_view comm;  // empty where it was not read
};

// Of equals the first in the file's order, by process and thread. None where the metric is no sum
// or maximum over threads, or no reading is above zero.
std::optional<Busiest> busiest_thread(const Snapshot& snapshot, const Members& threads,
                                      const PlannedMetric& metric, CellAt at);

}  // namespace ctprof
