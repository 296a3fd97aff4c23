// How, when and where a capture was made, as far as it can be said before it begins.

#pragma once

#include "core/capture/roots.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Both clocks, now.
Moment now();
// All but the end, the cost and the sources.
Meta begin_meta(const Roots& roots, bool with_hostname);

}  // namespace ctprof
