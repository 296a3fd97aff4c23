#include "core/capture/takeovers.hpp"

#include <algorithm>

#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

bool is_identity(const MetricDef& metric) {
  const auto& all = identity_metrics();
  return std::any_of(all.begin(), all.end(),
                     [&](const MetricDef& def) { return def.name == metric.name; });
}

bool could_be_ours(const Probed& probed, const MetricDef& metric) {
  const ProbedField* field = probed.find(metric.name);
  if (metric.hidden || !field) return false;
  return is_identity(metric) ||
         std::any_of(field->offers.begin(), field->offers.end(), [](const ProbedOffer& offer) {
           return offer.plugin->shipped && offer.verdict == Gap::None;
         });
}

std::vector<std::string> taken_by(const PlannedSource& planned, const Probed& probed) {
  std::vector<std::string> metrics;
  for (std::size_t i = 0; i < planned.chosen.size(); ++i) {
    const MetricDef& metric = planned.source->offers[i].metric;
    if (planned.chosen[i] && could_be_ours(probed, metric)) metrics.push_back(metric.name);
  }
  return metrics;
}

}  // namespace

std::vector<Takeover> takeovers(const Probed& probed, const Plan& plan) {
  std::vector<Takeover> all;
  for (const PlannedSource& planned : plan.sources) {
    const auto metrics =
        planned.plugin->shipped ? std::vector<std::string>{} : taken_by(planned, probed);
    if (metrics.empty()) continue;
    auto known = std::find_if(all.begin(), all.end(), [&](const Takeover& takeover) {
      return takeover.plugin == planned.plugin->name;
    });
    if (known == all.end()) known = all.insert(known, {planned.plugin->name, {}});
    known->metrics.insert(known->metrics.end(), metrics.begin(), metrics.end());
  }
  return all;
}

}  // namespace ctprof
