// The member `evidence` of a report in JSON: for each candidate how it was judged, and all rows of
// each family with what p is made of, so that another program can compute p, intervals and
// families again. The schema describes the members, docs/statistics.md the computation.

#pragma once

#include <functional>

#include "core/compare/report/report.hpp"
#include "core/render/row_json.hpp"

namespace ctprof {

// `may_go_on` is called before each row of a family; the row is left out where it returns false.
void write_evidence(JsonPieces& json, const Report& report, const std::function<bool()>& may_go_on);

}  // namespace ctprof
