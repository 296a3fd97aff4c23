// The second line of a window's heading: memory, pressure, iowait, load and throttling of its host.
//
//   mem 1.3 of 24.0 GiB   pressure cpu 78 io 0.5 mem 0 %   iowait 0 %   load 4.1   throttled 0 %
//
// Of several windows a figure that differs has all its values: "load 0.4→4.1". Pressure is the
// share of time in which some thread waited; iowait and throttling are in percent of one CPU.
// Figures that no file has are left out.
//
// Not here: where the figures come from (core/window/host_load.hpp).

#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core/compare/figures/run_facts.hpp"
#include "core/render/row_json.hpp"

namespace ctprof {

// REQUIRES: the sides are windows. Empty where nothing is known; else it ends with a line end.
std::string host_line(std::span<const RunFacts> sides, std::size_t width);
// Writes the member `host_load`; unknown values are null.
void write_host_load(JsonPieces& json, const RunFacts& run);

}  // namespace ctprof
