// Formats the second line of a window's heading: memory, pressure, iowait, load and throttling of
// the host.
//
//   mem 1.3 of 24.0 GiB   pressure cpu 78 io 0.5 mem 0 %   iowait 0 %   load 4.1   throttled 0 %
//
// For several windows, a figure that differs shows all values: "load 0.4→4.1". Pressure is the
// share of time in which some thread waited; iowait and throttling are in percent of one CPU.
// Figures that no file has are omitted.
//
// See also: core/window/host_load.hpp (the source of the figures).

#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core/compare/figures/run_facts.hpp"
#include "core/render/row_json.hpp"

namespace ctprof {

// Returns the line with its line end; empty if no figure is known. REQUIRES: the sides are windows.
std::string format_host_load(std::span<const RunFacts> sides, std::size_t width);
// Writes the member `host_load`; unknown values are null.
void write_host_load(JsonBuilder& json, const RunFacts& run);

}  // namespace ctprof
