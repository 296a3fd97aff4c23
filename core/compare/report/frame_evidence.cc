#include "core/compare/report/frame_evidence.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "core/base/number.hpp"
#include "core/statistics/eligible_rows.hpp"

namespace ctprof {
namespace {

constexpr double kShareOfTotal = 1e-3;

// The weight of a function in each run; NaN for a gap.
using Weights = std::vector<double>;

double mean(const Weights& figures) {
  double sum = 0, count = 0;
  for (const double figure : figures)
    if (!std::isnan(figure)) sum += figure, ++count;
  return count > 0 ? sum / count : 0;
}

// Returns the smallest non-zero weight, which is about the weight of one sample.
double smallest_weight(const Weights& figures) {
  double found = std::numeric_limits<double>::infinity();
  for (const double figure : figures)
    if (figure > 0) found = std::min(found, figure);
  return found;
}

// Divides self weights by their sum. Returns false if there is none.
bool convert_to_shares(std::vector<FunctionWeight>& weights) {
  double sum = 0;
  for (const FunctionWeight& weight : weights) sum += weight.self;
  if (!(sum > 0)) return false;
  for (FunctionWeight& weight : weights) weight.self /= sum;
  return true;
}

// Returns the functions of a group, each with its self weight in the runs, or its share.
std::map<std::uint32_t, Weights> functions_of(StackFigures& figures, const Rollup& rollup,
                                              RowPosition at, std::span<const std::size_t> runs,
                                              bool by_share) {
  std::map<std::uint32_t, Weights> found;
  std::vector<std::size_t> gaps;
  for (std::size_t place = 0; place < runs.size(); ++place) {
    const auto stacks = rollup.stacks_of_run(runs[place], at.group, at.metric);
    std::vector<FunctionWeight> functions;
    if (stacks) functions = figures.weights_of_run(*stacks);
    if (!stacks || (by_share && !convert_to_shares(functions))) {
      gaps.push_back(place);
      continue;
    }
    for (const FunctionWeight& weight : functions)
      if (weight.self > 0)
        found.try_emplace(weight.function, runs.size(), 0.0).first->second[place] = weight.self;
  }
  for (auto& [function, weights] : found)
    for (const std::size_t gap : gaps) weights[gap] = kNaN;
  return found;
}

bool fits_allowance(Allowance& allowance, const StackFigures& figures, const Rollup& rollup,
                    std::span<const RowPosition> groups, std::span<const std::size_t> runs) {
  for (const RowPosition at : groups)
    for (const std::size_t run : runs)
      if (const auto stacks = rollup.stacks_of_run(run, at.group, at.metric))
        if (!allowance.spend(1 + figures.count_steps(*stacks))) return false;
  return true;
}

}  // namespace

FrameEvidence::FrameEvidence(StackFigures& figures, const Rollup& rollup,
                             std::span<const RowPosition> groups,
                             std::span<const std::optional<SideDesign>> designs,
                             const SignificanceThreshold& threshold, Allowance allowance,
                             bool by_share)
    : threshold_(threshold), by_share_(by_share) {
  for (const auto& design : designs) {
    if (design && !fits_allowance(allowance, figures, rollup, groups, design->runs)) {
      sides_.clear();
      return;
    }
    sides_.push_back(design ? test_functions(figures, rollup, groups, *design) : Side{});
  }
  if (std::ranges::all_of(sides_, [](const Side& side) { return side.rows.empty(); }))
    sides_.clear();
}

FrameEvidence::Side FrameEvidence::test_functions(StackFigures& figures, const Rollup& rollup,
                                                  std::span<const RowPosition> groups,
                                                  const SideDesign& design) const {
  std::map<Key, Weights> all;
  struct MetricWeights {
    double total = 0, sample = std::numeric_limits<double>::infinity();
  };
  // By metric; a share is part of its group, so each group has its own total.
  std::map<std::pair<std::uint32_t, std::uint32_t>, MetricWeights> metrics;
  const auto total_key = [&](std::uint32_t metric, std::uint32_t group) {
    return std::pair(metric, by_share_ ? group : 0);
  };
  for (const RowPosition at : groups)
    for (auto& [function, its] : functions_of(figures, rollup, at, design.runs, by_share_)) {
      MetricWeights& metric = metrics[total_key(at.metric, at.group)];
      metric.total += mean(its);
      metric.sample = std::min(metric.sample, smallest_weight(its));
      all.emplace(Key{at.metric, at.group, function}, std::move(its));
    }
  Side side;
  statistics::FamilyRows rows;
  for (auto& [key, its] : all) {
    const MetricWeights& metric = metrics[total_key(std::get<0>(key), std::get<1>(key))];
    const double floor = kShareOfTotal * metric.total;
    if (mean(its) < floor || !statistics::is_eligible(its, design.design, threshold_.alpha))
      continue;
    side.rows.push_back(key);
    rows.resolutions.push_back(metric.sample / (mean(its) + floor));
    for (const double figure : its) rows.values.push_back(std::log(figure + floor));
    side.floors.push_back(floor);
    side.resolutions.push_back(metric.sample);
    side.figures.push_back(std::move(its));
  }
  if (side.rows.empty()) return side;
  side.family = std::make_unique<statistics::Family>(design.design, std::move(rows));
  return side;
}

void FrameEvidence::visit(std::size_t side,
                          const std::function<void(const TestedFunction&)>& visit) const {
  if (side > sides_.size() || !sides_[side - 1].family) return;
  const Side& tested_side = sides_[side - 1];
  const auto test_results = test_rows(*tested_side.family, tested_side.floors, threshold_);
  for (std::size_t row = 0; row < tested_side.rows.size(); ++row) {
    const auto& [metric, group, function] = tested_side.rows[row];
    visit({{group, metric},
           function,
           tested_side.floors[row],
           tested_side.resolutions[row],
           tested_side.figures[row],
           test_results[row]});
  }
}

std::optional<RowTestResult> FrameEvidence::find_result(RowPosition group, std::uint32_t function,
                                                        std::size_t side) const {
  if (side > sides_.size()) return std::nullopt;
  const Side& tested_side = sides_[side - 1];
  const Key key{group.metric, group.group, function};
  const auto found = std::ranges::lower_bound(tested_side.rows, key);
  if (found == tested_side.rows.end() || *found != key) return std::nullopt;
  const auto row = static_cast<std::size_t>(found - tested_side.rows.begin());
  return test_row(*tested_side.family, row, tested_side.floors[row], threshold_);
}

}  // namespace ctprof
