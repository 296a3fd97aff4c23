// The shifts that a row by itself does not speak against, by inverting the test of one row.
//
// Of one row alone the error needs no attention: if the candidate is shifted back, all figures
// together keep their squares, so the labelling whose means lie further apart has the smaller error
// too. A labelling's means lie at least as far apart as those observed up to some shift, and no
// further, and that shift is known in closed form: the ends of the interval are found among them.

#pragma once

#include <span>
#include <vector>

#include "core/statistics/family.hpp"
#include "core/statistics/labellings.hpp"

namespace ctprof::statistics {

// The interval of each row; a row's does not depend on the others, but each labelling is walked
// once for all of them. REQUIRES: no gaps; of an unpaired design the figures of all runs, the
// baseline's first; of pairs the difference of each.
std::vector<Interval> invert(std::span<const std::vector<double>> rows,
                             const Labellings& labellings, double alpha);

}  // namespace ctprof::statistics
