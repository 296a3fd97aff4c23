// A capture as a line of JSON, as `ctprof fleet read` writes it.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/json_writer.hpp"
#include "core/compare/report/capture_figures.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof::cli {

// {"registry": 3, "metrics": [...]}: what captures of this plan refer to.
void write_definitions(const CapturePlan& plan, std::size_t registry, JsonWriter& out);

// The members of a capture's line, but for those that say where it was read, each with its comma.
void write_capture(const Snapshot& capture, const CapturePlan& plan, const CaptureFigures& figures,
                   std::size_t registry, JsonWriter& out);

}  // namespace ctprof::cli
