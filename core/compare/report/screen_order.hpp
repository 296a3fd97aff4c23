// Sorting the rows of the first screen by its columns, as the user names them.
//
// A column is named as it is printed: the label of a headline, "threads", or the first column,
// which is "process" or the axis of --group-by. "moved most" is the order by score. The largest
// comes first, of several sides the largest change on any side; names are ascending. Rows without a
// figure are last. Ties are in the order by score.

#pragma once

#include <span>

#include "core/compare/asked/spec.hpp"
#include "core/compare/report/screen.hpp"

namespace ctprof {

// Whether all keys name columns of the screen: names of metrics sort tables instead.
bool name_columns(const Spec& spec, const Screen& screen);

// REQUIRES: they do.
void sort_rows(Screen& screen, const Spec& spec);

}  // namespace ctprof
