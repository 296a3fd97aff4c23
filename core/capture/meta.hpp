// How, when and where a capture was made, as far as it can be said before it begins.

#pragma once

#include <vector>

#include "core/capture/roots.hpp"
#include "core/registry/plan.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Both clocks, now.
Moment now();
// All but the end, the cost and the sources.
Meta begin_meta(const Roots& roots, bool with_hostname);

// One entry for each such plugin of the plan. A metric counts where a source of ctprof's own could
// have filled it here; who a row is, ctprof can always say.
std::vector<Takeover> takeovers(const Probed& probed, const Plan& plan);

}  // namespace ctprof
