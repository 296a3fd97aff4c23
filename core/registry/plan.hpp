// Plans a capture: which sources run, for which columns, in which order.
//
// For each metric, the offer of the highest rank among those that work on this host wins. A source
// runs after the sources whose columns it reads. A cycle of such reads, or a column that no source
// fills, removes the sources concerned; each removal comes with a sentence, and their metrics go to
// the next offer or become gaps.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/probed.hpp"

namespace ctprof {

// A source that runs, and the offers that it was chosen for.
struct PlannedSource {
  const Plugin* plugin;
  const SourceTable* source;
  std::vector<bool> chosen;  // by its offers
};

// A metric that no source can fill here: every cell of its column is this gap.
struct Unfilled {
  SharedMetric metric;
  Gap gap;
  std::string reason;
};

struct Plan {
  std::vector<PlannedSource> sources;  // each after those that it reads from, stage by stage
  std::vector<PlannedSource>
      unseen;  // for what the lister cannot see: the next offer for each metric that it fills
  std::optional<PlannedSource> ends;  // of a window: who tells of threads that end
  std::string no_ends;                // if nobody does: why not
  std::vector<Unfilled> unfilled;
  std::vector<Refusal> refused;  // sources that could not be ordered or fed
};

// Sources that were tried and gave up, with their error messages.
using Lost = std::map<const SourceTable*, std::string>;

// `wanted`: names of metrics or derived metrics; nullopt: all that are not hidden. Fails if a name
// is unknown, and names it. The plan refers to `probed`, which must outlive it.
Result<Plan> make_plan(const Probed& probed, const std::optional<std::vector<std::string>>& wanted,
                       const Lost& lost = {});

// The recorders of call stacks with these names, each of a plugin or of a source, with the offers
// that work here. Fails if there is none of a name, or if it cannot record here, and says why.
Result<std::vector<PlannedSource>> plan_recorders(const Probed& probed,
                                                  const std::vector<std::string>& names);

}  // namespace ctprof
