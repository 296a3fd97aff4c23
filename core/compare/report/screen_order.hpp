// Sorts the rows of the first screen by the columns that the user names.
//
// A column is named as printed: the label of a headline, "threads", or the first column, which is
// "process" or the axis of --group-by. "moved most" is the order by score. Values are in descending
// order; with several sides, the largest change on any side counts. Names are ascending. Rows
// without a value are last. Ties are ordered by score.

#pragma once

#include <span>

#include "core/compare/report/screen.hpp"
#include "core/compare/request/spec.hpp"

namespace ctprof {

// Returns whether all sort keys name columns of the screen; metric names sort only tables.
bool sort_keys_are_columns(const Spec& spec, const Screen& screen);

// REQUIRES: sort_keys_are_columns().
void sort_rows(Screen& screen, const Spec& spec);

}  // namespace ctprof
