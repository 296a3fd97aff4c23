// Finds the data that a run lacks.

#pragma once

#include <vector>

#include "core/compare/figures/run_facts.hpp"
#include "core/window/losses.hpp"

namespace ctprof {

// Returns the losses of a snapshot or window, exited threads first. All denied readings together
// are one loss, which includes their effects.
std::vector<Loss> find_losses(const RunFacts& run);

}  // namespace ctprof
