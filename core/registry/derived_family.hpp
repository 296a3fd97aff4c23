// The family of a derived metric: whether its value in a window is cumulative or a level.
//
// The formula and its inputs determine the family. Only a formula of counters that subtracts can
// have either family. Then its definition decides: allocated bytes minus freed bytes are the growth
// over the window if the metric is cumulative, and the bytes in use if it is a gauge.
//
// A cumulative metric never decreases: a result below zero is a missing value.
//
// See also compare/figures/run_figures.hpp, which computes the value.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/result.hpp"
#include "core/expression/expression.hpp"

namespace ctprof {

enum class DerivedFamily : std::uint8_t {
  Counter,  // computed from the differences of its inputs over the window
  Level,    // computed at both ends of the window, or a ratio of differences over the window
  LevelFromTotals,  // computed at both ends of the window, from totals of counters
};

// Returns the kind that a metric of this family has in a formula.
FigureKind kind_of_family(std::string_view family);

// `declared`: "cumulative", "gauge", or empty if the definition does not specify it. An error only
// concerns the formula (Expression::kind). REQUIRES: as many kinds as inputs.
Result<DerivedFamily> derived_family(const Expression& expression,
                                     std::span<const FigureKind> inputs, std::string_view declared);

// "cumulative" or "gauge".
std::string_view name(DerivedFamily family);

}  // namespace ctprof
