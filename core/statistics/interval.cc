#include "core/statistics/interval.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

namespace ctprof::statistics {
namespace {

double mean(std::span<const double> figures) {
  return std::accumulate(figures.begin(), figures.end(), 0.0) / static_cast<double>(figures.size());
}

// How far apart a labelling's means are once the candidate is shifted to the baseline, and by how
// much they come closer for each further unit. 1 and -1: as what was observed does.
struct Line {
  double apart = 0, slope = 0;
};

Line of_pairs(std::span<const double> rests, std::span<const std::uint8_t> flips) {
  Line line;
  for (std::size_t pair = 0; pair < rests.size(); ++pair) {
    line.apart += flips[pair] ? -rests[pair] : rests[pair];
    line.slope += flips[pair] ? -1 : 1;
  }
  const auto pairs = static_cast<double>(rests.size());
  return {line.apart / pairs, line.slope / pairs};
}

Line of_sides(std::span<const double> rests, std::span<const std::uint8_t> sides,
              const Design& design) {
  double candidates = 0, all = 0, stayed = 0;
  for (std::size_t run = 0; run < rests.size(); ++run) {
    all += rests[run];
    if (!sides[run]) continue;
    candidates += rests[run];
    stayed += run >= design.baseline;
  }
  const auto n = static_cast<double>(design.baseline), m = static_cast<double>(design.candidate);
  return {candidates / m - (all - candidates) / n, stayed / m - (m - stayed) / n};
}

// Up to which shift, upwards from the one observed, the labelling's means are as far apart.
double reach(const Line& line) {
  if (1 - std::abs(line.slope) < kTie) return std::numeric_limits<double>::infinity();
  return line.apart >= 0 ? line.apart / (1 + line.slope) : -line.apart / (1 - line.slope);
}

// The end of the shifts whose p is above alpha.
double end_of(std::vector<double> reaches, double alpha) {
  const auto rejected =
      static_cast<std::size_t>(alpha * static_cast<double>(reaches.size()) + kTie);
  if (rejected >= reaches.size()) return 0;
  const auto last = reaches.begin() + static_cast<std::ptrdiff_t>(rejected);
  std::ranges::nth_element(reaches, last, std::ranges::greater{});
  return *last;
}

}  // namespace

Interval invert(std::span<const double> figures, const Labellings& labellings, double alpha) {
  const Design& design = labellings.design();
  std::vector<double> rests(figures.begin(), figures.end());
  const auto first_side = design.paired ? 0 : design.baseline;
  const double before = first_side ? mean(figures.first(first_side)) : 0;
  const double after = mean(figures.subspan(first_side));
  for (std::size_t at = 0; at < rests.size(); ++at) rests[at] -= at < first_side ? before : after;
  std::vector<double> up, down;
  for (std::size_t at = 0; at < labellings.size(); ++at) {
    const Line line =
        design.paired ? of_pairs(rests, labellings[at]) : of_sides(rests, labellings[at], design);
    up.push_back(reach(line));
    down.push_back(reach({-line.apart, line.slope}));
  }
  const double shift = after - before;
  return {shift - end_of(std::move(down), alpha), shift + end_of(std::move(up), alpha)};
}

}  // namespace ctprof::statistics
