// Selects the sources of a plan and orders them.
//
// For each metric, it selects the working offer with the highest rank. A source that cannot run is
// excluded, and the selection starts again without it.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/registry/planned_source.hpp"
#include "core/registry/probed_host.hpp"
#include "core/registry/requested_metrics.hpp"

namespace ctprof {

// Both arguments must outlive it.
class SourceSelection {
 public:
  SourceSelection(const ProbedHost& probed, const RequestedMetrics& requested,
                  const FailedSources& failed_sources)
      : probed_(&probed), requested_(&requested), excluded_(failed_sources) {}

  // REQUIRES: called once, before the other functions.
  void run();

  // Sorted by stage, each source after those whose columns it reads.
  const std::vector<PlannedSource>& sources() const { return sources_; }
  // Sources that could not be ordered or lack an input.
  const std::vector<Refusal>& refusals() const { return refusals_; }
  // All sources without a part in the plan, with reasons.
  const FailedSources& excluded() const { return excluded_; }
  // Returns the offer with the highest rank whose source is not excluded, or null.
  const ProbedOffer* find_best_offer(const ProbedMetric& field) const;

 private:
  void select_sources();
  std::vector<std::string> columns_required_by(const SourceTable& source) const;
  void select_timestamp_columns();
  bool is_planned(const ProbedOffer& offer) const;
  bool exclude_sources_without_input();
  bool is_listed(Entity entity) const;
  const PlannedSource* find_filling_source(std::string_view column) const;
  void exclude(const PlannedSource& planned, std::string reason);
  bool order_sources();
  std::vector<PlannedSource> in_load_order() const;
  bool has_placed_inputs(const PlannedSource& planned,
                         const std::vector<PlannedSource>& unplaced) const;

  const ProbedHost* probed_;
  const RequestedMetrics* requested_;
  FailedSources excluded_;
  std::vector<PlannedSource> sources_;
  std::vector<Refusal> refusals_;
};

}  // namespace ctprof
