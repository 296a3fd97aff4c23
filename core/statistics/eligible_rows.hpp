// Finds rows that can be significant at all.
//
// Labellings that exchange equal figures have equal statistics. So if only a few runs of a row
// differ from the others, the row has a large p under every labelling: if a group ran in two of 8 +
// 8 runs, at least 46 of 100 labellings put both on one side. Such a row can never be significant,
// but it can hide the shift of another row, so families omit it.
//
// A level that rises or falls during all pairs, such as the memory of a process that leaks, differs
// in every pair by about the same amount, and the order of the two runs determines the sign. Its
// shift cannot be significant, but the labelling that makes all of these differences positive has
// a larger statistic than any other row. With six pairs this one labelling is too many for every
// row. So families omit such rows, too.
//
// The decision uses only data that no labelling changes: the figures of both sides together, and
// for pairs their means and the magnitudes of their differences. So it does not make p too small.

#pragma once

#include <cstddef>
#include <span>

#include "core/statistics/labellings.hpp"

namespace ctprof::statistics {

// Returns how many runs differ from the most common figure; for pairs, how many have two different
// figures. Gaps (NaN) do not count. `row`: as in FamilyRows.
std::size_t count_different_figures(std::span<const double> row, const Design& design);

// Returns the smallest unadjusted p of one row with this number of different figures.
double compute_smallest_p(const Design& design, std::size_t different);

// Returns whether the means of at least five pairs, without gaps, only rise or only fall, and the
// mean difference inside the pairs is between half and twice the mean change from one run to the
// next that this trend implies. A shift of the candidate that is larger than the trend has other
// differences.
bool follows_trend(std::span<const double> row, const Design& design);

// Returns whether the smallest p of the row is at most alpha, and it follows no trend; if the runs
// allow no p of alpha, whether its p is as small as they allow.
bool is_eligible(std::span<const double> row, const Design& design, double alpha);

}  // namespace ctprof::statistics
