// --derive 'name = expression': metrics of the user's own, by the grammar of registered ones.
//
// What is here:   reading one, and adding it to a plan.
// What is not:    computing it (rollup.hpp).

#pragma once

#include <span>
#include <string_view>

#include "core/compare/metric_plan.hpp"

namespace ctprof {

// The error says what is wrong with the text alone. Entity and unit follow from the inputs, once
// they are known.
Result<DerivedDef> parse_derive(std::string_view text);

// The error says which name clashes, is not known (and offers the nearest), or is no number, or
// which units do not go together.
Result<void> add_derived(MetricPlan& plan, std::span<const Snapshot* const> sides,
                         std::span<const DerivedDef> asked);

}  // namespace ctprof
