// --fail-on: conditions on the rows of a comparison.
//
// METRIC.pct (of the baseline, in percent), METRIC.delta, METRIC.baseline and METRIC.candidate are
// numbers of a group; `threads` is how many it has in the candidate, and `group` its name.
//
// What is here:   reading the conditions.
// What is not:    which rows they pick out (report/failed_rows.hpp).

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/expression/condition.hpp"

namespace ctprof {

// The error says what is wrong with the text alone.
Result<Condition> parse_fail_on(std::string_view text);

// What a row has to say.
enum class Figure : std::uint8_t { Percent, Delta, Baseline, Candidate };
struct NamedFigure {
  std::string_view metric;
  Figure figure;
};

// The metric and figure of an input such as "run_time_ns.pct"; none for another name.
std::optional<NamedFigure> figure_named(std::string_view name);

}  // namespace ctprof
