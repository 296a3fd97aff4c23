// A source that a plan selected.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/registry/probed_host.hpp"

namespace ctprof {

// A source that runs, and its selected offers.
struct PlannedSource {
  const Plugin* plugin;
  const SourceTable* source;
  std::vector<bool> selected_offers;  // one per offer of the source
};

// Selects an offer, and adds its source to `sources` if it is not there.
void select_offer(const ProbedOffer& offer, std::vector<PlannedSource>& sources);

// Sources that failed earlier, with their error messages.
using FailedSources = std::map<const SourceTable*, std::string>;

}  // namespace ctprof
