// Writes the member `evidence` of a report: for each candidate how it was tested, and all rows of
// each family with the inputs of p, so that another program can recompute p, intervals and
// families. The schema describes the members, docs/statistics.md the computation.

#pragma once

#include <functional>

#include "core/compare/report/report.hpp"
#include "core/render/row_json.hpp"

namespace ctprof {

// Calls `may_write_row` before each row of a family and omits the row if it returns false.
void write_evidence(JsonBuilder& json, const Report& report,
                    const std::function<bool()>& may_write_row);

}  // namespace ctprof
