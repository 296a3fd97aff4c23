// Writes stacks as JSON: the member `stacks` of a report of files with stacks. The schema describes
// its members (tools/ctprof/schema/common.json).
//
// Functions are written once, after all groups, because one function is in many stacks. Stacks
// refer to functions by index.

#pragma once

#include <functional>

#include "core/compare/report/report.hpp"
#include "core/render/row_json.hpp"

namespace ctprof {

// Calls `may_write_row` before each row and writes the row if it returns true. REQUIRES:
// report.stacks().
void write_stacks(JsonBuilder& json, const Report& report,
                  const std::function<bool()>& may_write_row);

}  // namespace ctprof
