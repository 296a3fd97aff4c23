// Simulates spans of consecutive windows, splits them into blocks as ctprof does for archives, and
// tests the blocks with RowFamily.
//
//   simulate_spans [COMPARISONS]   of each kind; 2,000 by default. The numbers are the same in
//                                  each call.
//
// A host has 8 programs with 3 metrics, over windows of 5 s. The logarithm of each value follows an
// autoregressive process. Some programs run in bursts, whose windows are correlated as well. The
// kinds differ in the correlation and in the number of windows of a side.
//
//   equal     nothing differs: counts the comparisons with a significant row, as a share of all
//             comparisons and of those with enough blocks for a test.
//   power     one program has 30 % larger values: counts the tested comparisons that detect it.
//
// Exit status 1 if more than 10 % of the tested comparisons (plus three standard errors of the
// simulation) have a significant row although nothing differs; the limit is not alpha because
// blocks are only nearly independent. Also exit status 1 if fewer than 9 of 10 tested comparisons
// with 240 or more windows detect the shift.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/archive/blocks.hpp"
#include "core/compare/evidence/row_family.hpp"
#include "tests/statistics/simulated_random.hpp"

namespace {

using namespace ctprof;
using simulated::Random;
using statistics::Design;

constexpr std::uint32_t kPrograms = 8, kMetrics = 3, kShiftedProgram = 0;
constexpr std::uint64_t kWindowNs = 5'000'000'000;
constexpr double kAlpha = 0.05, kShift = 0.3;

// The variation of a program's values, equal on both sides.
struct Program {
  double level = 0, spread = 0, correlation = 0;
  bool is_bursty = false;
};

using Series = std::vector<double>;

Program make_program(Random& random, std::uint32_t number, double correlation) {
  if (number == kShiftedProgram) return {300, 0.05, correlation, false};
  Program program;
  program.level = std::exp(1 + 6 * random.uniform());
  program.spread = 0.2 * std::exp(0.5 * random.normal());
  program.correlation = correlation * random.uniform();
  program.is_bursty = random.uniform() < 0.25;
  return program;
}

Series make_series(Random& random, const Program& program, std::size_t windows, double shift) {
  Series series;
  const double innovation_scale = std::sqrt(1 - program.correlation * program.correlation);
  double log = random.normal();
  bool is_on = random.uniform() < 0.5;
  for (std::size_t at = 0; at < windows; ++at) {
    log = program.correlation * log + innovation_scale * random.normal();
    if (random.uniform() < (1 - program.correlation) / 2) is_on = !is_on;
    const double figure = program.level * (1 + shift) * std::exp(program.spread * log);
    series.push_back(program.is_bursty && !is_on ? 0 : figure);
  }
  return series;
}

// The series of a side, by program and metric.
using Side = std::vector<Series>;

Side make_side(Random& random, const std::vector<Program>& programs, std::size_t windows,
               double shift) {
  Side side;
  for (std::uint32_t program = 0; program < kPrograms; ++program)
    for (std::uint32_t metric = 0; metric < kMetrics; ++metric)
      side.push_back(
          make_series(random, programs[program], windows, program == kShiftedProgram ? shift : 0));
  return side;
}

WindowSeries make_windows(const Side& side) {
  WindowSeries windows;
  for (std::size_t at = 0; at < side.front().size(); ++at) {
    WindowRates figures{
        {at * kWindowNs, at * kWindowNs}, {(at + 1) * kWindowNs, (at + 1) * kWindowNs}, "boot", {}};
    for (std::uint32_t row = 0; row < side.size(); ++row) {
      const std::string metric = "m" + std::to_string(row % kMetrics);
      figures.rates[{metric, "p" + std::to_string(row / kMetrics)}] = side[row][at];
      figures.rates[{metric, ""}] += side[row][at];
    }
    windows.add(at, std::move(figures));
  }
  return windows;
}

std::vector<double> block_means(const Series& series, std::span<const WindowRange> blocks) {
  std::vector<double> means;
  for (const WindowRange& block : blocks) {
    double sum = 0;
    for (std::size_t at = block.first; at < block.first + block.count; ++at) sum += series[at];
    means.push_back(sum / static_cast<double>(block.count));
  }
  return means;
}

struct ComparisonResult {
  bool is_tested = false, has_significant_row = false, detects_shift = false;
  std::size_t blocks = 0;
};

ComparisonResult compare(const Side& before, const Side& after) {
  const std::vector<WindowSeries> series{make_windows(before), make_windows(after)};
  const BlockPlan plan = plan_blocks(series);
  if (plan.sides.empty()) return {};
  const Design design{plan.sides[0].size(), plan.sides[1].size(), false};
  std::vector<RowFigures> rows;
  for (std::uint32_t row = 0; row < before.size(); ++row) {
    RowFigures& figures = rows.emplace_back();
    figures.group = row / kMetrics;
    figures.metric = row % kMetrics;
    figures.floor = 1;
    figures.is_additive = true;
    figures.resolution = 0.2;
    figures.runs = block_means(before[row], plan.sides[0]);
    for (const double mean : block_means(after[row], plan.sides[1])) figures.runs.push_back(mean);
  }
  const RowFamily family(std::move(rows), design, kAlpha);
  ComparisonResult found{true, false, false, plan.sides[0].size()};
  for (std::size_t row = 0; row < family.rows().size(); ++row) {
    if (family.family().get_p(row) > kAlpha) continue;
    found.has_significant_row = true;
    found.detects_shift = found.detects_shift || family.rows()[row].first == kShiftedProgram;
  }
  return found;
}

bool meets_limits(Random& random, std::size_t windows, double correlation,
                  std::size_t comparisons) {
  std::size_t tested = 0, blocks = 0, significant = 0, shifted = 0, detected = 0;
  for (std::size_t at = 0; at < comparisons; ++at) {
    std::vector<Program> programs;
    for (std::uint32_t number = 0; number < kPrograms; ++number)
      programs.push_back(make_program(random, number, correlation));
    const Side before = make_side(random, programs, windows, 0);
    const ComparisonResult same = compare(before, make_side(random, programs, windows, 0)),
                           other = compare(before, make_side(random, programs, windows, kShift));
    tested += same.is_tested;
    blocks += same.blocks;
    significant += same.has_significant_row;
    shifted += other.is_tested;
    detected += other.detects_shift;
  }
  const auto share = [](std::size_t part, std::size_t all) {
    return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0;
  };
  std::printf(
      "%3zu windows, correlation up to %.2f: %5.1f %% tested, %4.1f blocks; significant where "
      "nothing "
      "differs: %.1f %% (%.1f %% of the tested); +30 %%: %.1f %% of the tested\n",
      windows, correlation, 100 * share(tested, comparisons), share(blocks, tested),
      100 * share(significant, comparisons), 100 * share(significant, tested),
      100 * share(detected, shifted));
  constexpr double kMaxFalsePositives = 0.1;
  const auto all = static_cast<double>(std::max<std::size_t>(tested, 1));
  if (share(significant, tested) >
      kMaxFalsePositives + 3 * std::sqrt(kMaxFalsePositives * (1 - kMaxFalsePositives) / all))
    return false;
  return windows < 240 || shifted < comparisons / 10 || share(detected, shifted) >= 0.9;
}

}  // namespace

int main(int argc, char** argv) {
  const auto comparisons = static_cast<std::size_t>(argc > 1 ? std::atoi(argv[1]) : 2000);
  if (comparisons < 1) return 2;
  Random random;
  bool limits_are_met = true;
  for (const std::size_t windows : {60, 240, 720})
    for (const double correlation : {0.0, 0.5, 0.8, 0.9})
      limits_are_met = meets_limits(random, windows, correlation, comparisons) && limits_are_met;
  if (!limits_are_met) std::printf("a condition is not met\n");
  return limits_are_met ? 0 : 1;
}
