// Rows that can be significant at all.
//
// Labellings that exchange equal figures have equal statistics. A row of which only a few runs
// differ from the others therefore has a large p under every labelling: if a group ran in two of
// 8 + 8 runs, at least 46 of 100 labellings put both on one side. Such a row can never be
// significant, but it can hide the shift of another row, so families leave it out.
//
// The decision uses only what no labelling changes: the figures of both sides together, and of
// pairs the sizes of their differences. So it does not make p too small.

#pragma once

#include <cstddef>
#include <span>

#include "core/statistics/labellings.hpp"

namespace ctprof::statistics {

// How many runs have another figure than the most common one; of pairs, how many have two figures
// that differ. Gaps (NaN) do not count. `row`: as in FamilyRows.
std::size_t different_figures(std::span<const double> row, const Design& design);

// The smallest p that one row can have by itself if so many of its figures are different.
double smallest_p(const Design& design, std::size_t different);

// Whether that p is at most alpha; where so few runs allow no p of alpha, whether it is as small
// as they allow.
bool is_eligible(std::span<const double> row, const Design& design, double alpha);

}  // namespace ctprof::statistics
