#include "core/registry/planned_source.hpp"

#include <algorithm>

namespace ctprof {

void select_offer(const ProbedOffer& offer, std::vector<PlannedSource>& sources) {
  auto it = std::ranges::find(sources, offer.source, &PlannedSource::source);
  if (it == sources.end())
    it = sources.insert(it, PlannedSource{offer.plugin, offer.source,
                                          std::vector<bool>(offer.source->offers.size(), false)});
  it->selected_offers[offer.index] = true;
}

}  // namespace ctprof
