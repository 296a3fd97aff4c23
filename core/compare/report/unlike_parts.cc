#include "core/compare/report/unlike_parts.hpp"

#include <cstdint>
#include <set>

#include "core/compare/asked/fail_on.hpp"

namespace ctprof {
namespace {

// Metrics of optional inputs that the conditions name.
std::set<std::size_t> judged(std::span<const Condition> fail_on, const MetricPlan& plan) {
  std::set<std::size_t> found;
  for (const Condition& condition : fail_on)
    for (const auto& input : condition.inputs()) {
      const auto named = figure_named(input.name);
      const PlannedMetric* metric = named ? plan.find(named->metric) : nullptr;
      if (metric && metric->expression)
        found.insert(static_cast<std::size_t>(metric - plan.metrics.data()));
    }
  return found;
}

bool is_unlike(std::uint32_t group, std::size_t metric, const Changes& changes,
               const Rollup& rollup) {
  for (std::size_t side = 1; side < rollup.sides(); ++side)
    if (!changes.of(group, metric, side).alike) return true;
  return false;
}

}  // namespace

std::vector<std::string> unlike_parts(std::span<const Condition> fail_on, const MetricPlan& plan,
                                      const Grouping& grouping, const Changes& changes,
                                      const Rollup& rollup) {
  std::vector<std::string> sentences;
  for (const std::size_t metric : judged(fail_on, plan)) {
    const std::size_t groups = grouping.count(plan.metrics[metric].entity);
    std::size_t unlike = 0;
    for (std::uint32_t group = 0; group < groups; ++group)
      unlike += is_unlike(group, metric, changes, rollup);
    if (unlike > 0)
      sentences.push_back("--fail-on does not judge '" + plan.metrics[metric].name + "' of " +
                          std::to_string(unlike) + (unlike == 1 ? " group" : " groups") +
                          ": the sides measured different parts of it");
  }
  return sentences;
}

}  // namespace ctprof
