// Plans a capture: which sources run, for which columns, in which order.
//
// The rows of an entity of a plugin are listed if any of its metrics is requested.
//
// For each metric, the working offer with the highest rank is selected. A source runs after the
// sources whose columns it reads. Sources whose reads form a cycle, or that read a column that no
// source fills, are excluded with a message. Their metrics go to the next offer or become gaps.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/planned_source.hpp"
#include "core/registry/probed_host.hpp"

namespace ctprof {

// A metric that no source can fill on this host: all cells of its column contain this gap.
struct UnfilledMetric {
  SharedMetric metric;
  Gap gap;
  std::string reason;
};

struct Plan {
  // Sorted by stage, each source after those whose columns it reads.
  std::vector<PlannedSource> sources;
  std::vector<PlannedSource> reserve_sources;  // for cells that the lister leaves Unseen: the next
                                               // offer for each metric that it fills
  // For a window: the source that reports exited threads.
  std::optional<PlannedSource> exited_thread_source;
  std::string no_exited_source_reason;  // the reason if there is no such source
  std::vector<UnfilledMetric> unfilled_metrics;
  std::vector<Refusal> refusals;  // sources that could not be ordered or lack an input
};

// `requested`: names of metrics or derived metrics; nullopt: all that are not hidden. Fails if a
// name is unknown; the error contains the name. The plan refers to `probed`, which must outlive it.
Result<Plan> make_plan(const ProbedHost& probed,
                       const std::optional<std::vector<std::string>>& requested,
                       const FailedSources& failed_sources = {});

// The expensive metrics that recorders record.
struct ExpensiveRecords {
  bool includes_all = true;
  std::vector<std::string> names = {};  // without includes_all: only these expensive metrics
};

// Returns the recorders of call stacks with these names, each the name of a plugin or of a source,
// with the offers that work on this host, except expensive ones that are not requested. Fails with
// the reason if a name is unknown, or if a recorder cannot record here.
Result<std::vector<PlannedSource>> plan_recorders(const ProbedHost& probed,
                                                  const std::vector<std::string>& names,
                                                  const ExpensiveRecords& expensive = {});

}  // namespace ctprof
