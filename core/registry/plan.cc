#include "core/registry/plan.hpp"

#include <algorithm>

#include "core/registry/identity.hpp"
#include "core/registry/requested_metrics.hpp"
#include "core/registry/source_selection.hpp"

namespace ctprof {
namespace {

void collect_unfilled(const ProbedHost& probed, const RequestedMetrics& requested,
                      const SourceSelection& selection, Plan& plan) {
  for (const ProbedMetric& field : probed.metrics()) {
    if (!requested.contains(&field) || is_identity_column(field.def->name) ||
        selection.find_best_offer(field))
      continue;
    // Report the reason of the offer with the lowest rank, which has the fewest requirements.
    const ProbedOffer& last_offer = field.offers.back();
    const auto exclusion = selection.excluded().find(last_offer.source);
    if (last_offer.refusal != Gap::None)
      plan.unfilled_metrics.push_back({field.def, last_offer.refusal, last_offer.reason});
    else
      plan.unfilled_metrics.push_back(
          {field.def, Gap::SourceFailed,
           exclusion == selection.excluded().end() ? "" : exclusion->second});
  }
}

void plan_reserve_offer(const ProbedMetric& field, const SourceSelection& selection, Plan& plan) {
  const auto is_usable = [&](const ProbedOffer& offer) {
    return offer.refusal == Gap::None && offer.source->table.stage == CTPROF_STAGE_THREAD &&
           !selection.excluded().contains(offer.source) &&
           std::ranges::all_of(offer.source->reads, [](const InputColumn& read) {
             return read.is_optional || is_identity_column(read.column);
           });
  };
  const auto next_offer = std::ranges::find_if(field.offers, is_usable);
  if (next_offer != field.offers.end()) select_offer(*next_offer, plan.reserve_sources);
}

// For each metric of the lister, plans the next best source that reads only identity columns:
// such a source can run on any set of rows.
void plan_reserve(const ProbedHost& probed, const SourceSelection& selection, Plan& plan) {
  for (const PlannedSource& planned : plan.sources)
    if (planned.source->table.stage == CTPROF_STAGE_LIST)
      for (std::size_t i = 0; i < planned.selected_offers.size(); ++i)
        if (planned.selected_offers[i])
          plan_reserve_offer(*probed.find(planned.source->offers[i].metric->name), selection, plan);
}

// Returns the first refused offer of a column that identifies exited threads, or null.
const ProbedOffer* find_refused_identity(const ProbedRecorder& recorder) {
  const auto it = std::ranges::find_if(recorder.offers, [&](const ProbedOffer& offer) {
    const MetricDef& metric = recorder.source->offers[offer.index].metric;
    const std::string& name = metric.name;
    return (is_identity_column(name) || name == kExitedAt) && offer.refusal != Gap::None;
  });
  return it == recorder.offers.end() ? nullptr : &*it;
}

bool is_requested(const ProbedHost& probed, const RequestedMetrics& requested,
                  const MetricDef& metric) {
  if (is_identity_column(metric.name) || metric.is_hidden) return true;
  const ProbedMetric* field = probed.find(metric.name);
  return field && requested.contains(field);
}

// Selects the best source of exited threads. Only one, because two would report the same threads.
void plan_exited_source(const ProbedHost& probed, const RequestedMetrics& requested, Plan& plan) {
  plan.no_exited_source_reason = "no plugin reports exited threads";
  for (const ProbedRecorder& recorder : probed.recorders()) {
    if (recorder.source->table.stage != CTPROF_STAGE_EXITED) continue;
    if (const ProbedOffer* refused_offer = find_refused_identity(recorder)) {
      plan.no_exited_source_reason = refused_offer->reason;
      continue;
    }
    plan.exited_thread_source = PlannedSource{recorder.plugin, recorder.source, {}};
    plan.no_exited_source_reason.clear();
    for (const ProbedOffer& offer : recorder.offers)
      plan.exited_thread_source->selected_offers.push_back(
          offer.refusal == Gap::None &&
          is_requested(probed, requested, recorder.source->offers[offer.index].metric));
    return;
  }
}

}  // namespace

Result<Plan> make_plan(const ProbedHost& probed,
                       const std::optional<std::vector<std::string>>& names,
                       const FailedSources& failed_sources) {
  CTPROF_TRY_VALUE(const RequestedMetrics requested, request_metrics(probed, names));
  SourceSelection selection(probed, requested, failed_sources);
  selection.run();
  Plan plan;
  plan.sources = selection.sources();
  plan.refusals = selection.refusals();
  collect_unfilled(probed, requested, selection, plan);
  plan_reserve(probed, selection, plan);
  plan_exited_source(probed, requested, plan);
  return plan;
}

}  // namespace ctprof
