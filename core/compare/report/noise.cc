#include "core/compare/report/noise.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/compare/evidence/evidence.hpp"
#include "core/compare/report/noise_pairs.hpp"
#include "core/statistics/labellings.hpp"

namespace ctprof {
namespace {

constexpr double kHalvesQuantile = 0.95;

class NoiseBuilder {
 public:
  NoiseBuilder(const Report& report, const Evidence& evidence, Noise& noise)
      : report_(&report),
        evidence_(&evidence),
        noise_(&noise),
        pairs_(*evidence.family(1), noise.alpha) {}

  void make() {
    for (std::size_t at = 0; at < evidence_->rows(1).size(); ++at)
      noise_->rows.push_back(make_row(at));
    std::unordered_map<std::uint32_t, std::size_t> places;  // on the screen, by group
    for (const ScreenRow& row : report_->screen()->rows) places.emplace(row.group, places.size());
    std::ranges::sort(noise_->rows, {}, [&](const NoiseRow& row) {
      const auto place = places.find(row.group);
      return std::tuple(place == places.end() ? places.size() : place->second, row.group,
                        row.column);
    });
  }

 private:
  NoiseRow make_row(std::size_t at) {
    const auto [group, metric] = evidence_->rows(1)[at];
    const statistics::Family& family = *evidence_->family(1);
    NoiseRow row;
    row.group = group;
    while (noise_->columns[row.column].metric != metric) ++row.column;
    row.median = as_double(report_->rollup().read({0, group, metric}).number);
    const double error = family.get_error(at);
    const double share =
        1 / static_cast<double>(design().baseline) + 1 / static_cast<double>(design().candidate);
    row.spread = std::expm1(error / std::sqrt(share));
    row.halves_difference = std::expm1(family.compute_difference_quantile(at, kHalvesQuantile));
    for (const std::size_t runs : kNoiseRuns)
      row.detectable_shifts.push_back(detectable_shift(at, error, runs));
    row.detectable_shift_of_pairs = std::expm1(pairs_.detectable_difference(at, kNoiseRunPairs));
    if (noise_->shift > 0)
      row.required_pairs = pairs_.required_pairs(at, std::log1p(noise_->shift));
    return row;
  }

  // Returns the shift that this number of runs per side could detect. Scales the error of the
  // halves to that number of runs.
  double detectable_shift(std::size_t at, double error, std::size_t runs) const {
    if (statistics::compute_smallest_p({runs, runs, false}) > noise_->alpha) return std::nan("");
    const double needed = evidence_->family(1)->compute_required_difference(at, noise_->alpha) +
                          kNinetyPercentQuantile * error;
    const double share =
        1 / static_cast<double>(design().baseline) + 1 / static_cast<double>(design().candidate);
    return std::expm1(needed * std::sqrt(2 / static_cast<double>(runs) / share));
  }

  const statistics::Design& design() const { return evidence_->family(1)->labellings().design(); }

  const Report* report_;
  const Evidence* evidence_;
  Noise* noise_;
  NoisePairs pairs_;
};

}  // namespace

Result<Noise> compute_noise(const Report& report, double shift) {
  const std::size_t runs = report.runs(0).size();
  if (runs < kMinNoiseRuns)
    return Error{
        "noise is the variation between runs: it needs at least " + std::to_string(kMinNoiseRuns) +
        " windows of one condition; record them with `ctprof record --repeat 8 -d 3s -o DIR`"};
  if (!report.screen()) return Error{"noise is computed for headlines, and these files have none"};
  Noise noise;
  noise.runs = runs;
  noise.alpha = report.spec().significance.alpha;
  noise.shift = shift;
  noise.columns = report.screen()->columns;
  for (const RunFacts& run : report.runs(0))
    noise.run_seconds += run.window->rates_over_ns / 1e9 / static_cast<double>(runs);
  SideDesign halves{{runs / 2, runs - runs / 2, false}, std::vector<std::size_t>(runs)};
  std::iota(halves.runs.begin(), halves.runs.end(), std::size_t{0});
  const std::optional<SideDesign> designs[] = {std::move(halves)};
  const std::vector<std::uint32_t> about(report.families().about_groups().begin(),
                                         report.families().about_groups().end());
  const Evidence evidence = report.families().test_headlines(
      noise.columns, designs, report.spec().about ? &about : nullptr);
  noise.has_all_labellings = evidence.family(1)->labellings().are_all();
  noise.labellings = noise.has_all_labellings ? statistics::count_labellings(designs[0]->design)
                                              : evidence.family(1)->labellings().size();
  NoiseBuilder(report, evidence, noise).make();
  return noise;
}

}  // namespace ctprof
