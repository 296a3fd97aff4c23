// Stacks as JSON: the member `stacks` of a report of files that have some. Its members are
// described in the schema (tools/ctprof/schema/common.json).
//
// A function is told once, behind all groups, and named by its place there: it is in many stacks.

#pragma once

#include <functional>

#include "core/compare/report/report.hpp"
#include "core/render/row_json.hpp"

namespace ctprof {

// A row is written if `has_room` says so, which is asked before each. REQUIRES: report.stacks().
void write_stacks(JsonPieces& json, const Report& report, const std::function<bool()>& has_room);

}  // namespace ctprof
