#include "core/registry/requested_metrics.hpp"

#include <algorithm>

#include "core/base/text.hpp"
#include "core/expression/expression.hpp"
#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

// Returns whether the metric is requested even if the user selected others.
bool is_always_requested(const ProbedMetric& field) {
  return std::ranges::any_of(field.offers, [](const ProbedOffer& offer) {
    return offer.plugin->runs_always && offer.plugin->is_shipped;
  });
}

Error unknown_metric_error(const ProbedHost& probed, const std::string& name) {
  std::vector<std::string> names;
  for (const ProbedMetric& field : probed.metrics()) names.push_back(field.def->name);
  for (const DerivedDef& derived : probed.registry().derived_metrics())
    names.push_back(derived.name);
  return {"no loaded plugin has a metric '" + name + "'" + suggest_nearest(name, names) +
          "; `ctprof metric-list` shows them all"};
}

// A recorder is planned separately (plan_recorders), if recorders were requested.
Result<void> check_recorded_metric(const ProbedHost& probed, const std::string& name) {
  const Recorder* recorder = find_recorder_of(probed.registry(), name);
  if (!recorder) return unknown_metric_error(probed, name);
  const bool is_probed = std::ranges::find(probed.recorders(), recorder->source,
                                           &ProbedRecorder::source) != probed.recorders().end();
  return is_probed ? Result<void>() : Result<void>(missing_recorder_error(*recorder, name));
}

// Adds a metric, or the inputs of a derived metric.
Result<void> request_metric(const ProbedHost& probed, const std::string& name,
                            RequestedMetrics& requested) {
  if (is_identity_column(name)) return {};
  if (const ProbedMetric* field = probed.find(name)) {
    requested.insert(field);
    return {};
  }
  const auto& derived = probed.registry().derived_metrics();
  const auto it = std::find_if(derived.begin(), derived.end(),
                               [&](const DerivedDef& def) { return def.name == name; });
  if (it == derived.end()) return check_recorded_metric(probed, name);
  for (const std::string& input : inputs_of(it->expression))
    if (const ProbedMetric* field = probed.find(input)) requested.insert(field);
  return {};
}

}  // namespace

const Recorder* find_recorder_of(const Registry& registry, std::string_view metric) {
  for (const Recorder& recorder : registry.recorders())
    for (const OfferTable& offer : recorder.source->offers)
      if (recorder.source->table.stage == CTPROF_STAGE_RECORD && offer.is_supported &&
          offer.metric->name == metric)
        return &recorder;
  return nullptr;
}

Error missing_recorder_error(const Recorder& recorder, const std::string& metric) {
  return {"metric '" + metric + "' is filled by a recorder: add --recorders " +
          recorder.plugin->name};
}

bool is_identity_column(std::string_view column) {
  const auto& all = identity_metrics();
  return column == kTaskDir || column == kStatText || column == kReadAt || column == kStartedAt ||
         std::any_of(all.begin(), all.end(),
                     [&](const MetricDef& def) { return def.name == column; });
}

bool is_timestamp_column(std::string_view column) {
  return column == kReadAt || column == kStartedAt;
}

Result<RequestedMetrics> request_metrics(const ProbedHost& probed,
                                         const std::optional<std::vector<std::string>>& names) {
  RequestedMetrics requested;
  // Identity metrics are always requested: the source that offers them lists the threads.
  for (const ProbedMetric& field : probed.metrics())
    if (!is_timestamp_column(field.def->name) &&
        (is_identity_column(field.def->name) || is_always_requested(field) ||
         (!names && !field.def->is_hidden)))
      requested.insert(&field);
  if (names)
    for (const std::string& name : *names) CTPROF_TRY(request_metric(probed, name, requested));
  return requested;
}

}  // namespace ctprof
