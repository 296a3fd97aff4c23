// The family of a derived metric: whether its figure of a window counts up or is a level.
//
// The family follows from the formula and its inputs. Only a formula of counters that subtracts
// can be both, and its definition decides: bytes allocated less bytes freed are the growth over the
// window if the metric is cumulative, and the bytes in use if it is a gauge.
//
// A metric that is defined as cumulative never falls: a result below zero is no value.
//
// Not here: computing the figure (compare/figures/run_figures.hpp).

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/result.hpp"
#include "core/expression/expression.hpp"

namespace ctprof {

enum class DerivedFamily : std::uint8_t {
  Counter,        // computed from what its inputs counted in the window
  Level,          // computed at both ends of the window, or a share of what was counted in it
  LevelOfTotals,  // computed at both ends of the window, from totals of counters
};

// Whether a metric of this family is a counter in a formula.
FigureKind figure_kind(std::string_view family);

// `declared`: "cumulative", "gauge", or empty if the definition does not say. The error is about
// the formula alone (Expression::kind). REQUIRES: as many kinds as inputs.
Result<DerivedFamily> derived_family(const Expression& expression,
                                     std::span<const FigureKind> inputs, std::string_view declared);

// "cumulative" or "gauge".
std::string_view name(DerivedFamily family);

}  // namespace ctprof
