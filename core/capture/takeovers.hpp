// Metrics of ctprof's own that somebody else's plugin fills, because its rank is higher.

#pragma once

#include <vector>

#include "core/registry/plan.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// One entry for each such plugin of the plan. A metric counts where a source of ctprof's own could
// have filled it here; who a row is, ctprof can always say.
std::vector<Takeover> takeovers(const Probed& probed, const Plan& plan);

}  // namespace ctprof
