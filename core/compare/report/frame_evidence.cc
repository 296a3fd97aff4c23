#include "core/compare/report/frame_evidence.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "core/base/number.hpp"
#include "core/statistics/eligible.hpp"

namespace ctprof {
namespace {

constexpr double kShareOfTotal = 1e-3;

// The weight of a function in each run; NaN for a gap.
using Figures = std::vector<double>;

double mean(const Figures& figures) {
  double sum = 0, count = 0;
  for (const double figure : figures)
    if (!std::isnan(figure)) sum += figure, ++count;
  return count > 0 ? sum / count : 0;
}

// Returns the smallest non-zero weight, which is about the weight of one sample.
double least(const Figures& figures) {
  double found = std::numeric_limits<double>::infinity();
  for (const double figure : figures)
    if (figure > 0) found = std::min(found, figure);
  return found;
}

// Returns the functions of a group, each with its self weight in the runs.
std::map<std::uint32_t, Figures> functions_of(StackFigures& figures, const Rollup& rollup, RowAt at,
                                              std::span<const std::size_t> runs) {
  std::map<std::uint32_t, Figures> found;
  std::vector<std::size_t> gaps;
  for (std::size_t place = 0; place < runs.size(); ++place) {
    const auto stacks = rollup.stacks_of_run(runs[place], at.group, at.metric);
    if (!stacks) gaps.push_back(place);
    if (!stacks) continue;
    for (const FunctionWeight& weight : figures.of_run(*stacks))
      if (weight.self > 0)
        found.try_emplace(weight.function, runs.size(), 0.0).first->second[place] = weight.self;
  }
  for (auto& [function, its] : found)
    for (const std::size_t gap : gaps) its[gap] = kNaN;
  return found;
}

bool affords(Allowance& allowance, const StackFigures& figures, const Rollup& rollup,
             std::span<const RowAt> groups, std::span<const std::size_t> runs) {
  for (const RowAt at : groups)
    for (const std::size_t run : runs)
      if (const auto stacks = rollup.stacks_of_run(run, at.group, at.metric))
        if (!allowance.spend(1 + figures.steps(*stacks))) return false;
  return true;
}

}  // namespace

FrameEvidence::FrameEvidence(StackFigures& figures, const Rollup& rollup,
                             std::span<const RowAt> groups,
                             std::span<const std::optional<SideDesign>> designs, const Bar& bar,
                             Allowance allowance)
    : bar_(bar) {
  for (const auto& design : designs) {
    if (design && !affords(allowance, figures, rollup, groups, design->runs)) {
      sides_.clear();
      return;
    }
    sides_.push_back(design ? judge(figures, rollup, groups, *design) : Side{});
  }
  if (std::ranges::all_of(sides_, [](const Side& side) { return side.rows.empty(); }))
    sides_.clear();
}

FrameEvidence::Side FrameEvidence::judge(StackFigures& figures, const Rollup& rollup,
                                         std::span<const RowAt> groups,
                                         const SideDesign& design) const {
  std::map<Key, Figures> all;
  struct OfMetric {
    double total = 0, sample = std::numeric_limits<double>::infinity();
  };
  std::map<std::uint32_t, OfMetric> metrics;
  for (const RowAt at : groups)
    for (auto& [function, its] : functions_of(figures, rollup, at, design.runs)) {
      OfMetric& metric = metrics[at.metric];
      metric.total += mean(its);
      metric.sample = std::min(metric.sample, least(its));
      all.emplace(Key{at.metric, at.group, function}, std::move(its));
    }
  Side side;
  statistics::FamilyRows rows;
  for (auto& [key, its] : all) {
    const OfMetric& metric = metrics[std::get<0>(key)];
    const double floor = kShareOfTotal * metric.total;
    if (mean(its) < floor || !statistics::is_eligible(its, design.design, bar_.alpha)) continue;
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
                          const std::function<void(const JudgedFunction&)>& visit) const {
  if (side > sides_.size() || !sides_[side - 1].family) return;
  const Side& its = sides_[side - 1];
  const auto proofs = proofs_of(*its.family, its.floors, bar_);
  for (std::size_t row = 0; row < its.rows.size(); ++row) {
    const auto& [metric, group, function] = its.rows[row];
    visit({{group, metric},
           function,
           its.floors[row],
           its.resolutions[row],
           its.figures[row],
           proofs[row]});
  }
}

std::optional<Proof> FrameEvidence::of(RowAt group, std::uint32_t function,
                                       std::size_t side) const {
  if (side > sides_.size()) return std::nullopt;
  const Side& its = sides_[side - 1];
  const Key wanted{group.metric, group.group, function};
  const auto found = std::ranges::lower_bound(its.rows, wanted);
  if (found == its.rows.end() || *found != wanted) return std::nullopt;
  const auto row = static_cast<std::size_t>(found - its.rows.begin());
  return proof_of(*its.family, row, its.floors[row], bar_);
}

}  // namespace ctprof
