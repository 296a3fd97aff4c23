#include "core/compare/evidence/evidence.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace ctprof {
namespace {

// One row's figures in the runs of both sides, NaN for gaps.
struct Figures {
  std::uint32_t group = 0;
  const JudgedMetric* metric = nullptr;
  double floor = 0;
  std::vector<double> runs;

  double mean() const {
    double sum = 0, count = 0;
    for (const double figure : runs)
      if (!std::isnan(figure)) sum += figure, ++count;
    return sum / count;
  }
  // NaN for gaps compares with nothing.
  double range() const {
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (const double figure : runs) {
      if (figure < least) least = figure;
      if (figure > most) most = figure;
    }
    return most - least;
  }
  bool can_be_judged() const {
    return mean() >= 0 && std::ranges::none_of(
                              runs, [](double figure) { return figure < 0 || std::isinf(figure); });
  }
};

// Whether the row brings its group into the family.
bool is_above_floor(const Figures& row) {
  switch (row.metric->entry) {
    case JoinsBy::Mean: return row.mean() >= row.floor;
    case JoinsBy::Range: return row.range() >= row.floor;
    case JoinsBy::Group: return false;
  }
  return false;
}

constexpr double kShareOfTotal = 1e-3, kShareOfLargest = 1e-2;

// Gives the rows of a metric without a floor that of their total, or of the largest of them.
void set_floors(std::span<Figures> rows, bool adds_up) {
  double total = 0, most = 0;
  for (const Figures& row : rows) total += row.mean(), most = std::max(most, row.mean());
  for (Figures& row : rows)
    row.floor = row.metric->floor > 0 ? row.metric->floor
                : adds_up             ? total * kShareOfTotal
                                      : most * kShareOfLargest;
}

std::vector<Figures> in_family(std::vector<Figures> rows) {
  std::set<std::uint32_t> groups;
  for (const Figures& row : rows)
    if (is_above_floor(row)) groups.insert(row.group);
  std::erase_if(rows, [&](const Figures& row) {
    if (row.floor <= 0) return true;  // nothing but zeros
    return !is_above_floor(row) &&
           (row.metric->entry == JoinsBy::Mean || !groups.contains(row.group));
  });
  return rows;
}

// NaN stays a gap.
double log_above(double figure, double floor) { return std::log(figure + floor); }

}  // namespace

Evidence::Evidence(const Rollup& rollup, const MetricPlan& plan,
                   std::span<const std::uint32_t> groups, std::span<const JudgedMetric> metrics,
                   std::span<const std::optional<SideDesign>> designs, const Bar& bar)
    : rollup_(&rollup), plan_(&plan), bar_(bar) {
  for (const auto& design : designs)
    sides_.push_back(design ? judge(groups, metrics, *design) : Side{});
}

Evidence::Side Evidence::judge(std::span<const std::uint32_t> groups,
                               std::span<const JudgedMetric> metrics,
                               const SideDesign& design) const {
  std::vector<Figures> all;
  for (const JudgedMetric& metric : metrics) {
    const std::size_t first = all.size();
    const bool of_host = plan_->metrics[metric.metric].entity == Entity::Host;
    constexpr std::uint32_t kHostRow[] = {0};
    for (const std::uint32_t group : of_host ? std::span<const std::uint32_t>(kHostRow) : groups) {
      Figures row{group, &metric, 0, {}};
      for (const std::size_t run : design.runs)
        row.runs.push_back(rollup_->figure_of_run(run, group, metric.metric));
      if (row.can_be_judged()) all.push_back(std::move(row));
    }
    const PlannedMetric& planned = plan_->metrics[metric.metric];
    set_floors(std::span(all).subspan(first), planned.adds_up || planned.is_sum);
  }
  all = in_family(std::move(all));
  std::ranges::sort(all, {}, [](const Figures& row) { return Row{row.group, row.metric->metric}; });
  Side side;
  statistics::FamilyRows rows;
  for (const Figures& row : all) {
    side.rows.emplace_back(row.group, row.metric->metric);
    rows.kinds.push_back(row.metric->metric);
    for (const double figure : row.runs) rows.values.push_back(log_above(figure, row.floor));
  }
  side.family = std::make_unique<statistics::Family>(design.design, std::move(rows));
  return side;
}

std::optional<Proof> Evidence::of(std::uint32_t group, std::size_t metric, std::size_t side) const {
  const Side& its = sides_[side - 1];
  const Row wanted{group, static_cast<std::uint32_t>(metric)};
  const auto found = std::ranges::lower_bound(its.rows, wanted);
  if (found == its.rows.end() || *found != wanted) return std::nullopt;
  return proof_of(*its.family, static_cast<std::size_t>(found - its.rows.begin()), bar_);
}

std::optional<Proof> proof_of(const statistics::Family& family, std::size_t row, const Bar& bar) {
  if (std::isnan(family.shift(row))) return std::nullopt;
  const statistics::Interval interval = family.interval(row, bar.alpha);
  Proof proof{std::expm1(family.shift(row)), std::expm1(interval.low), std::expm1(interval.high),
              family.p(row)};
  if (std::isinf(interval.low)) proof.low = interval.low;  // else -1
  // The interval lies beyond: all of it, on the side to which the row moved.
  const double nearest = proof.shift > 0 ? proof.low : -proof.high;
  proof.proven = proof.p <= bar.alpha && (bar.min_shift == 0 || nearest >= bar.min_shift);
  return proof;
}

}  // namespace ctprof
