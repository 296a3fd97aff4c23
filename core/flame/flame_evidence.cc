#include "core/flame/flame_evidence.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "core/base/number.hpp"
#include "core/compare/evidence/evidence.hpp"
#include "core/statistics/eligible_rows.hpp"
#include "core/statistics/family.hpp"

namespace ctprof {
namespace {

constexpr double kShareOfTotal = 1e-3;
constexpr std::uint32_t kNoRow = std::numeric_limits<std::uint32_t>::max();

// Replaces the weights of a run by the shares of their groups. Nodes of a group without samples
// become NaN.
FlameWeights convert_to_shares(FlameWeights run, const std::vector<std::uint32_t>& groups) {
  std::vector<double> sums(groups.size());
  for (const auto& [node, weight] : run.nodes) sums[groups[node]] += weight;
  for (auto& [node, weight] : run.nodes) weight /= sums[groups[node]];
  run.seconds = 1;
  for (std::uint32_t node = 0; node < groups.size(); ++node)
    if (!(sums[groups[node]] > 0)) run.nodes.emplace_back(node, kNaN);
  return run;
}

// Returns the mean of each node over the runs of the design with known weights.
std::vector<double> compute_means(std::size_t nodes, std::span<const FlameWeights> runs,
                                  const SideDesign& design) {
  std::vector<double> sums(nodes);
  const auto known_runs = static_cast<double>(
      std::ranges::count_if(design.runs, [&](const std::size_t run) { return !runs[run].is_gap; }));
  std::vector<double> counts(nodes, known_runs);
  for (const std::size_t run : design.runs)
    for (const auto& [node, weight] : runs[run].nodes)
      if (std::isnan(weight))
        --counts[node];
      else
        sums[node] += weight / runs[run].seconds;
  for (std::size_t node = 0; node < nodes; ++node)
    sums[node] = counts[node] > 0 ? sums[node] / counts[node] : 0;
  return sums;
}

// Returns the nodes of the family, ascending.
std::vector<std::uint32_t> select_nodes(const std::vector<double>& means, double floor) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t node = 0; node < means.size(); ++node)
    if (means[node] > 0 && means[node] >= floor) found.push_back(node);
  return found;
}

// Returns for each row the smallest weight of its group's rows, which is approximately that of one
// sample. `groups`: by row.
std::vector<double> find_smallest(const statistics::FamilyRows& rows,
                                  const std::vector<std::uint32_t>& groups) {
  std::map<std::uint32_t, double> smallest;
  for (std::size_t row = 0; row < rows.count(); ++row)
    for (const double weight : rows.row(row))
      if (weight > 0) {
        const auto known = smallest.try_emplace(groups[row], weight).first;
        known->second = std::min(known->second, weight);
      }
  std::vector<double> found;
  for (const std::uint32_t group : groups) found.push_back(smallest[group]);
  return found;
}

// `groups`: by node; in each, a sample has another weight.
statistics::FamilyRows make_rows(const std::vector<std::uint32_t>& family,
                                 const std::vector<std::uint32_t>& groups,
                                 std::span<const FlameWeights> runs, const SideDesign& design,
                                 const std::vector<double>& mean, double floor) {
  std::vector<std::uint32_t> row_of(groups.size(), kNoRow), groups_of_rows;
  for (std::uint32_t row = 0; row < family.size(); ++row) {
    row_of[family[row]] = row;
    groups_of_rows.push_back(groups[family[row]]);
  }
  const std::size_t width = design.runs.size();
  statistics::FamilyRows rows;
  rows.resolutions.assign(family.size(), 0.0);
  rows.values.assign(family.size() * width, 0.0);
  for (std::size_t place = 0; place < width; ++place) {
    const FlameWeights& run = runs[design.runs[place]];
    if (run.is_gap)
      for (std::size_t row = 0; row < family.size(); ++row) rows.values[row * width + place] = kNaN;
    for (const auto& [node, weight] : run.nodes)
      if (row_of[node] != kNoRow) rows.values[row_of[node] * width + place] += weight / run.seconds;
  }
  const std::vector<double> samples = find_smallest(rows, groups_of_rows);
  for (std::size_t row = 0; row < family.size(); ++row)
    rows.resolutions[row] = samples[row] / (mean[family[row]] + floor);
  for (double& value : rows.values) value = std::log(value + floor);
  return rows;
}

// Drops the rows that cannot be significant.
void drop_ineligible_rows(std::vector<std::uint32_t>& family, statistics::FamilyRows& rows,
                          const statistics::Design& design, double alpha) {
  std::vector<std::uint32_t> kept_family;
  statistics::FamilyRows kept_rows;
  for (std::size_t at = 0; at < family.size(); ++at) {
    const auto row = rows.row(at);
    if (!statistics::is_eligible(row, design, alpha)) continue;
    kept_family.push_back(family[at]);
    kept_rows.resolutions.push_back(rows.resolutions[at]);
    kept_rows.values.insert(kept_rows.values.end(), row.begin(), row.end());
  }
  family = std::move(kept_family);
  rows = std::move(kept_rows);
}

}  // namespace

void mark_insignificant(FlameTree& tree, std::span<const FlameWeights> runs,
                        const SideDesign& design, const SignificanceThreshold& threshold) {
  tree.is_tested = true;
  for (FlameNode& node : tree.nodes) node.is_insignificant = true;
  std::vector<std::uint32_t> groups(tree.nodes.size());
  std::vector<FlameWeights> shares;
  if (tree.is_by_share) {
    groups = find_groups(tree);
    for (const FlameWeights& run : runs) shares.push_back(convert_to_shares(run, groups));
    runs = shares;
  }
  const auto mean = compute_means(tree.nodes.size(), runs, design);
  const double total = tree.is_by_share ? 1 : std::accumulate(mean.begin(), mean.end(), 0.0);
  const double floor = kShareOfTotal * total;
  auto family = select_nodes(mean, floor);
  if (family.empty()) return;
  auto rows = make_rows(family, groups, runs, design, mean, floor);
  drop_ineligible_rows(family, rows, design.design, threshold.alpha);
  if (family.empty()) return;
  const statistics::Family tested(design.design, std::move(rows));
  for (std::size_t row = 0; row < family.size(); ++row) {
    const auto test_result = test_row(tested, row, floor, threshold);
    tree.nodes[family[row]].is_insignificant = !test_result || !test_result->is_significant;
  }
}

}  // namespace ctprof
