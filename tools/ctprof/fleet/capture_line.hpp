// Writes a capture as a line of JSON for `ctprof fleet read`.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/json_writer.hpp"
#include "core/compare/report/capture_figures.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof::cli {

// Writes {"registry": 3, "metrics": [...]}, to which captures of this plan refer.
void write_definitions(const CapturePlan& plan, std::size_t registry, JsonWriter& out);

// Writes the members of a capture's line, except those about its file, each followed by a comma.
void write_capture(const Snapshot& capture, const CapturePlan& plan, const CaptureFigures& figures,
                   std::size_t registry, JsonWriter& out);

}  // namespace ctprof::cli
