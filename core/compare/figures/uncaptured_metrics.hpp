// Metrics that captures did not read because they are expensive (listed in Meta), for a note in the
// report. A metric that only some runs left out is an ordinary column that is missing on one side.

#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Explains how to read the omitted metrics.
inline constexpr const char* kHowToReadExpensive = "record with --level full or --metrics";

bool is_not_captured(const Meta& meta, const std::string& metric);

// Returns the metrics that some run left out and no run contains, sorted and without duplicates.
std::vector<std::string> find_uncaptured_metrics(std::span<const Snapshot* const> runs);

// Returns "not recorded, because expensive to read: process.smaps_rollup (--level full, or
// --metrics, reads it)"; empty if there are no metrics.
std::string describe_uncaptured_metrics(const std::vector<std::string>& metrics);

}  // namespace ctprof
