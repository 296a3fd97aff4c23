// The plan of a capture: which sources run, for which columns, in which order. Made once, from what
// the host can do and what is wanted.
//
// Per metric the offer of the highest rank that can on this host wins. A source runs after those
// whose columns it reads; a circle, or a column that nobody fills, takes the sources concerned out,
// with a sentence, and their metrics go to the next offer or become gaps.
//
// What is here:   choosing and ordering.
// What is not:    running it (capture/).

#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/probed.hpp"

namespace ctprof {

// A source that runs, and which of its offers it was chosen for.
struct PlannedSource {
  const Plugin* plugin;
  const SourceTable* source;
  std::vector<bool> chosen;  // by its offers
};

// A metric that nobody can fill here: its column is all this gap.
struct Unfilled {
  const MetricDef* metric;
  Gap gap;
  std::string reason;
};

struct Plan {
  std::vector<PlannedSource> sources;  // each after those that it reads from, stage by stage
  std::vector<PlannedSource>
      unseen;  // for what the lister cannot see: the next offer for each metric that it fills
  std::vector<Unfilled> unfilled;
  std::vector<Refusal> refused;  // sources that could not be ordered or fed
};

// Sources that were tried and gave up, and what they said.
using Lost = std::map<const SourceTable*, std::string>;

// `wanted`: names of metrics or derived metrics; none: all that is not hidden. The error names what
// is unknown.
Result<Plan> make_plan(const Probed& probed, const std::optional<std::vector<std::string>>& wanted,
                       const Lost& lost = {});

}  // namespace ctprof
