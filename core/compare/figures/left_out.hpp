// What the captures left out as costly (Meta::left_out), so that a report can say so. A metric that
// one run has and another left out is a column like any other, absent on one side.

#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// How to have what was left out.
inline constexpr const char* kHowToReadCostly = "--level full, or --metrics, reads it";

bool is_left_out(const Meta& meta, const std::string& metric);

// Metrics that were left out of some run, and that no run has; in order, each once.
std::vector<std::string> left_out_of_all(std::span<const Snapshot* const> runs);

// "not read, as costly: process.smaps_rollup (--level full, or --metrics, reads it)"; empty if
// there is none.
std::string left_out_in_words(const std::vector<std::string>& metrics);

}  // namespace ctprof
