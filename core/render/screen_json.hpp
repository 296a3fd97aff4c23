// Writes the first screen as JSON: the member `screen` of a report of windows. The schema describes
// its members (tools/ctprof/schema/common.json).

#pragma once

#include <functional>

#include "core/compare/report/report.hpp"
#include "core/render/row_json.hpp"

namespace ctprof {

// Calls `may_write_row` before each row and writes the row if it returns true. REQUIRES:
// report.screen().
void write_screen(JsonBuilder& json, const Report& report,
                  const std::function<bool()>& may_write_row);

}  // namespace ctprof
