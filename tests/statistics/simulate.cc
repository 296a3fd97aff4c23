// Simulates comparisons of hosts, and tests them with RowFamily like ctprof does.
//
//   simulate [COMPARISONS]      of each kind; 10,000 by default. The numbers are the same in each
//                               call.
//
// A host has 16 groups with 8 metrics: five counts and three times, over windows of 2 s. The values
// of a row vary by a log-normal or a heavy-tailed factor. Some groups have bursts, and some occur
// in only a few runs. Interleaved sides have a common drift, and a program whose memory grows. One
// group is a service, whose rows vary little.
//
//   equal     nothing differs: the share of comparisons with a significant row must not exceed
//             alpha by more than three standard errors of the simulation.
//   power     all rows of the service shift by 20 %, measured with 6 pairs. Counts how many are
//             significant in the family of the host, in a family of their own as --about tests
//             them, and in the family of the host with the pad of older versions, which is a
//             tenth of the median error of all rows of a metric. If pairs differ by 2 % or less,
//             9 of 10 rows must be significant in the family of the host; with 4 %, 9 of 10 in
//             their own family.
//
// Exit status 1 if one of these conditions is not met.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <utility>
#include <vector>

#include "core/compare/evidence/row_family.hpp"
#include "tests/statistics/simulated_random.hpp"

namespace {

using namespace ctprof;
using simulated::Random;
using statistics::Design;

constexpr std::uint32_t kGroups = 16, kMetrics = 8, kCounts = 5, kService = kGroups - 1;
constexpr double kSeconds = 2, kTick = 1e-6;
constexpr double kAlpha = 0.05, kShift = 0.2;

// Properties that all runs of a group have in common.
struct Group {
  double scale = 0, spread = 0;
  bool is_heavy = false, is_bursty = false, is_rare = false;
};

class Host {
 public:
  Host(Random& random, const Design& design, double service_spread, double shift)
      : random_(&random), design_(&design), spread_(service_spread), shift_(shift) {}

  std::vector<RowFigures> rows() {
    std::vector<RowFigures> found;
    for (std::uint32_t group = 0; group < kGroups; ++group) {
      const Group properties = make_group(group);
      const std::vector<bool> present = choose_runs(properties);
      for (std::uint32_t metric = 0; metric < kMetrics; ++metric)
        found.push_back(make_row(group, metric, properties, present));
    }
    if (design_->is_paired) found.push_back(make_growing_level());
    return found;
  }

 private:
  Group make_group(std::uint32_t group) {
    if (group == kService) return {3000, spread_};
    Group properties;
    properties.scale = std::exp(1 + 11 * random_->uniform());
    properties.spread = 0.15 * std::exp(0.8 * random_->normal());
    properties.is_heavy = random_->uniform() < 0.25;
    properties.is_bursty = random_->uniform() < 0.15;
    properties.is_rare = random_->uniform() < 0.2;
    return properties;
  }

  std::vector<bool> choose_runs(const Group& properties) {
    std::vector<bool> present;
    const double share = properties.is_rare ? random_->uniform() : 1;
    for (std::size_t run = 0; run < design_->runs(); ++run)
      present.push_back(random_->uniform() < share);
    return present;
  }

  RowFigures make_row(std::uint32_t group, std::uint32_t metric, const Group& properties,
                      const std::vector<bool>& present) {
    RowFigures row;
    row.group = group;
    row.metric = metric;
    row.is_additive = true;
    const bool is_count = metric < kCounts;
    const double level =
        group == kService ? properties.scale : properties.scale * std::exp(random_->normal());
    row.floor = is_count ? 1 : 0.01;
    row.resolution = is_count ? 1 / kSeconds : kTick;
    // Both interleaved sides drift in the same way; exchangeable sides do not drift.
    const double drift = design_->is_paired ? 0.3 * random_->normal() : 0;
    for (std::size_t run = 0; run < design_->runs(); ++run) {
      const bool is_after = run >= design_->baseline;
      const double place = static_cast<double>(is_after ? run - design_->baseline : run);
      double log = drift * place / static_cast<double>(design_->baseline);
      log += properties.spread *
             (properties.is_heavy ? random_->student_t() / 1.7 : random_->normal());
      if (properties.is_bursty && random_->uniform() < 0.2) log += 2;
      if (group == kService && is_after) log += std::log1p(shift_);
      const double figure = level * std::exp(std::clamp(log, -8.0, 6.0));
      row.runs.push_back(!present[run] ? 0 : measured_rate(figure, is_count, group));
    }
    return row;
  }

  // Grows by the same amount from each run to the next, whichever side the next run belongs to.
  RowFigures make_growing_level() {
    RowFigures row{kGroups, kMetrics, FamilyCriterion::Range, 1, true, 0.01, {}};
    row.runs.resize(design_->runs());
    for (std::size_t pair = 0; pair < design_->baseline; ++pair) {
      const bool starts_with_candidate = random_->uniform() < 0.5;
      for (std::size_t side = 0; side < 2; ++side) {
        const std::size_t place = 2 * pair + (starts_with_candidate ? 1 - side : side);
        row.runs[pair + side * design_->baseline] =
            1000 + 30 * static_cast<double>(place) + random_->normal();
      }
    }
    return row;
  }

  // The service handles a fixed number of requests in each window; events of other groups are
  // random.
  double measured_rate(double per_second, bool is_count, std::uint32_t group) {
    if (!is_count) return per_second / 1000;
    const double expected = per_second * kSeconds;
    return (group == kService ? std::round(expected) : random_->poisson(expected)) / kSeconds;
  }

  Random* random_;
  const Design* design_;
  double spread_, shift_;
};

// Comparisons without a difference.

bool has_significant_row(const RowFamily& family) {
  for (std::size_t row = 0; row < family.rows().size(); ++row)
    if (family.family().get_p(row) <= kAlpha) return true;
  return false;
}

bool keeps_false_positive_limit(Random& random, const Design& design, std::size_t comparisons) {
  std::size_t found = 0;
  for (std::size_t at = 0; at < comparisons; ++at)
    found += has_significant_row(RowFamily(Host(random, design, 0.02, 0).rows(), design, kAlpha));
  const auto all = static_cast<double>(comparisons);
  const double max_found = kAlpha * all + 3 * std::sqrt(kAlpha * (1 - kAlpha) * all);
  std::printf("equal, %zu + %zu runs%s: %zu of %zu comparisons have a significant row, %.2f %%\n",
              design.baseline, design.candidate, design.is_paired ? " in pairs" : "", found,
              comparisons, 100 * static_cast<double>(found) / all);
  return static_cast<double>(found) <= max_found;
}

// Comparisons with a shifted service.

struct Power {
  std::size_t rows = 0, by_default = 0, with_about = 0, old_pad = 0;
};

// Returns the p values with a pad of a tenth of the median error of the metric's rows.
std::vector<double> p_values_with_old_pad(const std::vector<RowFigures>& rows,
                                          const Design& design) {
  const double share = std::sqrt(2 / static_cast<double>(design.baseline));
  statistics::FamilyRows family;
  for (const RowFigures& row : rows)
    for (const double run : row.runs) family.values.push_back(std::log(run + row.floor));
  family.resolutions.assign(rows.size(), 0);
  const statistics::Family family_without_pad(design, family);
  for (std::uint32_t metric = 0; metric < kMetrics; ++metric) {
    std::vector<double> errors;
    for (std::size_t row = 0; row < rows.size(); ++row)
      if (rows[row].metric == metric && family_without_pad.get_error(row) > 0)
        errors.push_back(family_without_pad.get_error(row));
    const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
    std::ranges::nth_element(errors, middle);
    for (std::size_t row = 0; row < rows.size(); ++row)
      if (rows[row].metric == metric) family.resolutions[row] = 0.1 * *middle / share;
  }
  const statistics::Family family_with_pad(design, std::move(family));
  std::vector<double> ps;
  for (std::size_t row = 0; row < rows.size(); ++row) ps.push_back(family_with_pad.get_p(row));
  return ps;
}

void add_comparison(Random& random, const Design& design, double spread, Power& power) {
  // The difference of a pair varies by `spread`, so each run varies by spread / sqrt(2).
  std::vector<RowFigures> rows = Host(random, design, spread / std::numbers::sqrt2, kShift).rows();
  const std::vector<RowFigures> without_level(rows.begin(), rows.end() - 1);
  const std::vector<double> old = p_values_with_old_pad(without_level, design);
  std::vector<RowFigures> service;
  for (std::size_t row = 0; row < without_level.size(); ++row) {
    if (rows[row].group != kService) continue;
    service.push_back(rows[row]);
    power.old_pad += old[row] <= kAlpha;
    ++power.rows;
  }
  const RowFamily all(std::move(rows), design, kAlpha), about(std::move(service), design, kAlpha);
  for (const RowFamily* family : {&all, &about})
    for (std::size_t row = 0; row < family->rows().size(); ++row)
      if (family->rows()[row].first == kService && family->family().get_p(row) <= kAlpha)
        ++(family == &all ? power.by_default : power.with_about);
}

bool reaches_required_power(Random& random, double spread, std::size_t comparisons) {
  constexpr Design kSixPairs{6, 6, true};
  Power power;
  for (std::size_t at = 0; at < comparisons; ++at) add_comparison(random, kSixPairs, spread, power);
  const auto percent = [&](std::size_t found) {
    return 100 * static_cast<double>(found) / static_cast<double>(power.rows);
  };
  std::printf(
      "power, +20 %% over 6 pairs that vary by %.0f %%: %.1f %% of the service's rows are "
      "significant, "
      "%.1f %% with --about, %.1f %% with the old pad\n",
      100 * spread, percent(power.by_default), percent(power.with_about), percent(power.old_pad));
  if (spread <= 0.02 && percent(power.by_default) < 90) return false;
  if (spread <= 0.04 && percent(power.with_about) < 90) return false;
  return power.by_default >= power.old_pad;
}

}  // namespace

int main(int argc, char** argv) {
  const auto comparisons = static_cast<std::size_t>(argc > 1 ? std::atoi(argv[1]) : 10000);
  if (comparisons < 1) return 2;
  Random random;
  bool limits_are_met = true;
  for (const Design& design : {Design{6, 6, true}, Design{8, 8, true}, Design{4, 4}, Design{6, 5}})
    limits_are_met = keeps_false_positive_limit(random, design, comparisons) && limits_are_met;
  for (const double spread : {0.01, 0.02, 0.04, 0.08})
    limits_are_met = reaches_required_power(random, spread, comparisons) && limits_are_met;
  if (!limits_are_met) std::printf("a condition is not met\n");
  return limits_are_met ? 0 : 1;
}
