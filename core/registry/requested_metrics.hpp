// Determines which metrics of a capture were requested: by the user, by formulas, and by ctprof
// itself, which needs the columns that identify rows.
//
// See also: plan.hpp (selects the sources of these metrics).

#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/probed_host.hpp"

namespace ctprof {

using RequestedMetrics = std::set<const ProbedMetric*>;

// Returns whether ctprof always requests the column, and stores it in another form.
bool is_identity_column(std::string_view column);
// Returns whether a column is only read from sources that run anyway.
bool is_timestamp_column(std::string_view column);

// Returns the recorder that offers the metric; null if none does.
const Recorder* find_recorder_of(const Registry& registry, std::string_view metric);
// Returns the error for a requested metric whose recorder was not requested.
Error missing_recorder_error(const Recorder& recorder, const std::string& metric);

// `names`: as in make_plan().
Result<RequestedMetrics> request_metrics(const ProbedHost& probed,
                                         const std::optional<std::vector<std::string>>& names);

}  // namespace ctprof
