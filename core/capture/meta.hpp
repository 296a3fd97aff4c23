// What a snapshot says about its own capture: how, when and where it was made, and which of
// ctprof's metrics another plugin filled.

#pragma once

#include <vector>

#include "core/capture/roots.hpp"
#include "core/registry/plan.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// The time now, on both clocks.
Moment now();
// Everything that is known before the capture begins: all but its end, its cost and its sources.
Meta begin_meta(const Roots& roots, bool with_hostname);

// Metrics of ctprof's own that a third party's plugin fills because of its higher rank; one entry
// for each such plugin. A metric counts only if a source of ctprof's own could have filled it here;
// identity metrics always count.
std::vector<Takeover> takeovers(const Probed& probed, const Plan& plan);

}  // namespace ctprof
