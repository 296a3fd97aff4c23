// Simulates comparisons of hosts, and tests them with RowFamily like ctprof does.
//
//   simulate [COMPARISONS]      of each kind; 10,000 by default. The numbers are the same in each
//                               call.
//
// A host has 16 groups with 8 metrics: five counts and three times, over windows of 2 s. The values
// of a row vary by a log-normal or a heavy-tailed factor. Some groups have bursts, and some occur
// in only a few runs. Interleaved sides have a common drift. One group is a service, whose rows
// vary little.
//
//   silence   nothing differs: the share of comparisons with a significant row must not exceed
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
      const Group how = group_of(group);
      const std::vector<bool> present = presence(how);
      for (std::uint32_t metric = 0; metric < kMetrics; ++metric)
        found.push_back(row_of(group, metric, how, present));
    }
    return found;
  }

 private:
  Group group_of(std::uint32_t group) {
    if (group == kService) return {3000, spread_};
    Group how;
    how.scale = std::exp(1 + 11 * random_->uniform());
    how.spread = 0.15 * std::exp(0.8 * random_->normal());
    how.is_heavy = random_->uniform() < 0.25;
    how.is_bursty = random_->uniform() < 0.15;
    how.is_rare = random_->uniform() < 0.2;
    return how;
  }

  std::vector<bool> presence(const Group& how) {
    std::vector<bool> present;
    const double share = how.is_rare ? random_->uniform() : 1;
    for (std::size_t run = 0; run < design_->runs(); ++run)
      present.push_back(random_->uniform() < share);
    return present;
  }

  RowFigures row_of(std::uint32_t group, std::uint32_t metric, const Group& how,
                    const std::vector<bool>& present) {
    RowFigures row;
    row.group = group;
    row.metric = metric;
    row.adds_up = true;
    const bool is_count = metric < kCounts;
    const double level = group == kService ? how.scale : how.scale * std::exp(random_->normal());
    row.floor = is_count ? 1 : 0.01;
    row.resolution = is_count ? 1 / kSeconds : kTick;
    // Both interleaved sides drift in the same way; exchangeable sides do not drift.
    const double drift = design_->paired ? 0.3 * random_->normal() : 0;
    for (std::size_t run = 0; run < design_->runs(); ++run) {
      const bool is_after = run >= design_->baseline;
      const double place = static_cast<double>(is_after ? run - design_->baseline : run);
      double log = drift * place / static_cast<double>(design_->baseline);
      log += how.spread * (how.is_heavy ? random_->heavy() / 1.7 : random_->normal());
      if (how.is_bursty && random_->uniform() < 0.2) log += 2;
      if (group == kService && is_after) log += std::log1p(shift_);
      const double figure = level * std::exp(std::clamp(log, -8.0, 6.0));
      row.runs.push_back(!present[run] ? 0 : told(figure, is_count, group));
    }
    return row;
  }

  // The service handles a fixed number of requests in each window; events of other groups are
  // random.
  double told(double per_second, bool is_count, std::uint32_t group) {
    if (!is_count) return per_second / 1000;
    const double expected = per_second * kSeconds;
    return (group == kService ? std::round(expected) : random_->count(expected)) / kSeconds;
  }

  Random* random_;
  const Design* design_;
  double spread_, shift_;
};

// Comparisons without a difference.

bool any_proven(const RowFamily& family) {
  for (std::size_t row = 0; row < family.rows().size(); ++row)
    if (family.family().p(row) <= kAlpha) return true;
  return false;
}

bool is_silent(Random& random, const Design& design, std::size_t comparisons) {
  std::size_t found = 0;
  for (std::size_t at = 0; at < comparisons; ++at)
    found += any_proven(RowFamily(Host(random, design, 0.02, 0).rows(), design, kAlpha));
  const auto all = static_cast<double>(comparisons);
  const double most = kAlpha * all + 3 * std::sqrt(kAlpha * (1 - kAlpha) * all);
  std::printf("silence, %zu + %zu runs%s: %zu of %zu comparisons have a significant row, %.2f %%\n",
              design.baseline, design.candidate, design.paired ? " in pairs" : "", found,
              comparisons, 100 * static_cast<double>(found) / all);
  return static_cast<double>(found) <= most;
}

// Comparisons with a shifted service.

struct Power {
  std::size_t rows = 0, by_default = 0, alone = 0, old_pad = 0;
};

// Returns the p values with a pad of a tenth of the median error of the metric's rows.
std::vector<double> old_ps(const std::vector<RowFigures>& rows, const Design& design) {
  const double share = std::sqrt(2 / static_cast<double>(design.baseline));
  statistics::FamilyRows family;
  for (const RowFigures& row : rows)
    for (const double run : row.runs) family.values.push_back(std::log(run + row.floor));
  family.resolutions.assign(rows.size(), 0);
  const statistics::Family bare(design, family);
  for (std::uint32_t metric = 0; metric < kMetrics; ++metric) {
    std::vector<double> errors;
    for (std::size_t row = 0; row < rows.size(); ++row)
      if (rows[row].metric == metric && bare.error(row) > 0) errors.push_back(bare.error(row));
    const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
    std::ranges::nth_element(errors, middle);
    for (std::size_t row = 0; row < rows.size(); ++row)
      if (rows[row].metric == metric) family.resolutions[row] = 0.1 * *middle / share;
  }
  const statistics::Family padded(design, std::move(family));
  std::vector<double> ps;
  for (std::size_t row = 0; row < rows.size(); ++row) ps.push_back(padded.p(row));
  return ps;
}

void add_comparison(Random& random, const Design& design, double spread, Power& power) {
  // The difference of a pair varies by `spread`, so each run varies by spread / sqrt(2).
  std::vector<RowFigures> rows = Host(random, design, spread / std::numbers::sqrt2, kShift).rows();
  const std::vector<double> old = old_ps(rows, design);
  std::vector<RowFigures> service;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows[row].group != kService) continue;
    service.push_back(rows[row]);
    power.old_pad += old[row] <= kAlpha;
    ++power.rows;
  }
  const RowFamily all(std::move(rows), design, kAlpha), about(std::move(service), design, kAlpha);
  for (const RowFamily* family : {&all, &about})
    for (std::size_t row = 0; row < family->rows().size(); ++row)
      if (family->rows()[row].first == kService && family->family().p(row) <= kAlpha)
        ++(family == &all ? power.by_default : power.alone);
}

bool has_power(Random& random, double spread, std::size_t comparisons) {
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
      100 * spread, percent(power.by_default), percent(power.alone), percent(power.old_pad));
  if (spread <= 0.02 && percent(power.by_default) < 90) return false;
  if (spread <= 0.04 && percent(power.alone) < 90) return false;
  return power.by_default >= power.old_pad;
}

}  // namespace

int main(int argc, char** argv) {
  const auto comparisons = static_cast<std::size_t>(argc > 1 ? std::atoi(argv[1]) : 10000);
  if (comparisons < 1) return 2;
  Random random;
  bool holds = true;
  for (const Design& design : {Design{6, 6, true}, Design{8, 8, true}, Design{4, 4}, Design{6, 5}})
    holds = is_silent(random, design, comparisons) && holds;
  for (const double spread : {0.01, 0.02, 0.04, 0.08})
    holds = has_power(random, spread, comparisons) && holds;
  if (!holds) std::printf("a condition is not met\n");
  return holds ? 0 : 1;
}
