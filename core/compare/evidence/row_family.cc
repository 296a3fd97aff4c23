#include "core/compare/evidence/row_family.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "core/statistics/eligible.hpp"

namespace ctprof {
namespace {

double mean(const RowFigures& row) {
  double sum = 0, count = 0;
  for (const double figure : row.runs)
    if (!std::isnan(figure)) sum += figure, ++count;
  return sum / count;
}

// Comparisons with NaN are false, so gaps are ignored.
double range(const RowFigures& row) {
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const double figure : row.runs) {
    if (figure < least) least = figure;
    if (figure > most) most = figure;
  }
  return most - least;
}

// Returns whether the row admits its group to the family.
bool is_above_floor(const RowFigures& row) {
  switch (row.entry) {
    case JoinsBy::Mean: return mean(row) >= row.floor;
    case JoinsBy::Range: return range(row) >= row.floor;
    case JoinsBy::Group: return false;
  }
  return false;
}

constexpr double kShareOfTotal = 1e-3, kShareOfLargest = 1e-2;

// Sets missing floors to a share of the metric's total over all rows, or of its largest row.
void set_floors(std::span<RowFigures> rows) {
  struct Sum {
    double total = 0, most = 0;
  };
  std::map<std::uint32_t, Sum> sums;  // by metric
  for (const RowFigures& row : rows) {
    if (row.floor > 0) continue;
    Sum& sum = sums[row.metric];
    const double figure = mean(row);
    sum.total += figure;
    sum.most = std::max(sum.most, figure);
  }
  for (RowFigures& row : rows)
    if (const auto sum = sums.find(row.metric); row.floor <= 0 && sum != sums.end())
      row.floor =
          row.adds_up ? sum->second.total * kShareOfTotal : sum->second.most * kShareOfLargest;
}

std::vector<RowFigures> in_family(std::vector<RowFigures> rows) {
  std::set<std::uint32_t> groups;
  for (const RowFigures& row : rows)
    if (is_above_floor(row)) groups.insert(row.group);
  std::erase_if(rows, [&](const RowFigures& row) {
    if (row.floor <= 0) return true;  // all values are zero
    return !is_above_floor(row) && (row.entry == JoinsBy::Mean || !groups.contains(row.group));
  });
  return rows;
}

// NaN remains NaN.
double log_above(double figure, double floor) { return std::log(figure + floor); }

}  // namespace

bool can_be_judged(const RowFigures& row) {
  return mean(row) >= 0 && std::ranges::none_of(row.runs, [](double figure) {
           return figure < 0 || std::isinf(figure);
         });
}

struct RowFamily::Judged {
  std::vector<Row> rows;
  std::vector<double> floors;
  statistics::FamilyRows figures;
};

// Frees the values row by row, because for many hosts they use most of the memory.
RowFamily::Judged RowFamily::judged(std::vector<RowFigures> all, const statistics::Design& design,
                                    double alpha) {
  std::erase_if(all, [](const RowFigures& row) { return !can_be_judged(row); });
  set_floors(all);
  std::erase_if(all, [&](const RowFigures& row) {
    return !statistics::is_eligible(row.runs, design, alpha);
  });
  all = in_family(std::move(all));
  std::ranges::sort(all, {}, [](const RowFigures& row) { return Row{row.group, row.metric}; });
  Judged found;
  if (!all.empty()) found.figures.values.reserve(all.size() * all.front().runs.size());
  for (RowFigures& row : all) {
    found.rows.emplace_back(row.group, row.metric);
    found.floors.push_back(row.floor);
    found.figures.resolutions.push_back(row.resolution / (mean(row) + row.floor));
    for (const double figure : row.runs)
      found.figures.values.push_back(log_above(figure, row.floor));
    row.runs = {};
  }
  return found;
}

RowFamily::RowFamily(std::vector<RowFigures> rows, const statistics::Design& design, double alpha)
    : RowFamily(judged(std::move(rows), design, alpha), design) {}

RowFamily::RowFamily(Judged judged, const statistics::Design& design)
    : rows_(std::move(judged.rows)),
      floors_(std::move(judged.floors)),
      family_(design, std::move(judged.figures)) {}

namespace {

constexpr double kRounding = 1e-9;  // as a fraction of the floor: rounding error of a mean of zeros

double without(double floor, double log_mean) {
  const double figure = std::exp(log_mean) - floor;
  return figure > kRounding * floor ? figure : 0;
}

// Returns whether the whole interval exceeds the minimum shift in the direction of the change. Uses
// the interval without the floor, as reports show it, unless the baseline is zero.
bool is_beyond(const Proof& proof, double min_shift) {
  if (min_shift == 0) return true;
  const Proof shown = proof.before == 0 ? proof : without_floor(proof);
  return (shown.shift > 0 ? shown.low : -shown.high) >= min_shift;
}

std::optional<Proof> proof_of(const statistics::Family& family, std::size_t row, double floor,
                              const statistics::Interval& interval, const Bar& bar) {
  if (std::isnan(family.shift(row))) return std::nullopt;
  Proof proof{std::expm1(family.shift(row)), std::expm1(interval.low), std::expm1(interval.high),
              family.p(row)};
  if (std::isinf(interval.low)) proof.low = interval.low;  // expm1 would return -1
  proof.p_alone = family.p_alone(row);
  proof.floor = floor;
  proof.before = without(floor, family.mean_before(row));
  proof.after = without(floor, family.mean_after(row));
  proof.proven = proof.p <= bar.alpha && is_beyond(proof, bar.min_shift);
  return proof;
}

}  // namespace

Proof without_floor(const Proof& proof) {
  Proof bare = proof;
  if (proof.before == 0) {
    bare.shift = bare.low = bare.high = std::nan("");
    return bare;
  }
  const double scale = (proof.before + proof.floor) / proof.before;
  for (double* part : {&bare.shift, &bare.low, &bare.high})
    *part = std::isinf(*part) ? *part : std::max(-1.0, *part * scale);
  return bare;
}

std::optional<Proof> proof_of(const statistics::Family& family, std::size_t row, double floor,
                              const Bar& bar) {
  return proof_of(family, row, floor, family.interval(row, bar.alpha), bar);
}

std::vector<std::optional<Proof>> proofs_of(const statistics::Family& family,
                                            std::span<const double> floors, const Bar& bar) {
  const std::vector<statistics::Interval> intervals = family.intervals(bar.alpha);
  std::vector<std::optional<Proof>> proofs;
  for (std::size_t row = 0; row < family.rows(); ++row)
    proofs.push_back(proof_of(family, row, floors[row], intervals[row], bar));
  return proofs;
}

}  // namespace ctprof
