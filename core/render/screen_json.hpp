// The first screen as JSON: the member `screen` of a report of windows. Its members are described
// in the schema (tools/ctprof/schema/common.json).

#pragma once

#include <functional>

#include "core/compare/report/report.hpp"
#include "core/render/row_json.hpp"

namespace ctprof {

// A row is written if `has_room` says so, which is asked before each. REQUIRES: report.screen().
void write_screen(JsonPieces& json, const Report& report, const std::function<bool()>& has_room);

}  // namespace ctprof
