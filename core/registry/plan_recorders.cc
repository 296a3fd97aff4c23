#include <algorithm>
#include <utility>

#include "core/base/text.hpp"
#include "core/registry/plan.hpp"
#include "core/registry/requested_metrics.hpp"

namespace ctprof {
namespace {

bool is_recorder(const ProbedRecorder& recorder) {
  return recorder.source->table.stage == CTPROF_STAGE_RECORD;
}

Error unknown_recorder_error(const ProbedHost& probed, const std::string& name) {
  std::vector<std::string> names;
  for (const ProbedRecorder& recorder : probed.recorders())
    if (is_recorder(recorder)) names.push_back(recorder.plugin->name);
  return {"no loaded plugin has a recorder '" + name + "'" + suggest_nearest(name, names) +
          (names.empty() ? "; no loaded plugin has any" : "; choose " + join_texts(names))};
}

bool is_requested(const MetricDef& metric, const ExpensiveRecords& expensive) {
  return !metric.costly || expensive.includes_all ||
         std::ranges::find(expensive.names, metric.name) != expensive.names.end();
}

Result<PlannedSource> plan_recorder(const ProbedRecorder& recorder,
                                    const ExpensiveRecords& expensive) {
  PlannedSource planned{recorder.plugin, recorder.source, {}};
  for (const ProbedOffer& offer : recorder.offers)
    planned.selected_offers.push_back(
        offer.refusal == Gap::None &&
        is_requested(recorder.source->offers[offer.index].metric, expensive));
  if (std::ranges::find(planned.selected_offers, true) != planned.selected_offers.end())
    return planned;
  return Error{"cannot start the recorder '" + recorder.source->name + "': " +
               (recorder.offers.empty() ? "it offers no metric" : recorder.offers.front().reason)};
}

// Checks that each requested metric of a recorder belongs to one of these.
Result<void> check_requested(const ProbedHost& probed, const ExpensiveRecords& expensive,
                             const std::vector<PlannedSource>& recorders) {
  for (const std::string& name : expensive.names) {
    const Recorder* recorder = find_recorder_of(probed.registry(), name);
    if (recorder &&
        std::ranges::find(recorders, recorder->source, &PlannedSource::source) == recorders.end())
      return missing_recorder_error(*recorder, name);
  }
  return {};
}

}  // namespace

Result<std::vector<PlannedSource>> plan_recorders(const ProbedHost& probed,
                                                  const std::vector<std::string>& names,
                                                  const ExpensiveRecords& expensive) {
  std::vector<PlannedSource> recorders;
  for (const std::string& name : names) {
    const auto it = std::ranges::find_if(probed.recorders(), [&](const ProbedRecorder& recorder) {
      return is_recorder(recorder) &&
             (recorder.plugin->name == name || recorder.source->name == name);
    });
    if (it == probed.recorders().end()) return unknown_recorder_error(probed, name);
    CTPROF_TRY_VALUE(auto planned, plan_recorder(*it, expensive));
    const bool is_known = std::ranges::any_of(
        recorders, [&](const PlannedSource& other) { return other.source == planned.source; });
    if (!is_known) recorders.push_back(std::move(planned));
  }
  CTPROF_TRY(check_requested(probed, expensive, recorders));
  return recorders;
}

}  // namespace ctprof
