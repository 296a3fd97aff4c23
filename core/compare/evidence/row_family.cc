#include "core/compare/evidence/row_family.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "core/statistics/eligible_rows.hpp"

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
  double smallest = std::numeric_limits<double>::infinity(), largest = -smallest;
  for (const double figure : row.runs) {
    if (figure < smallest) smallest = figure;
    if (figure > largest) largest = figure;
  }
  return largest - smallest;
}

// Returns whether the row adds its group to the family.
bool is_above_floor(const RowFigures& row) {
  switch (row.criterion) {
    case FamilyCriterion::Mean: return mean(row) >= row.floor;
    case FamilyCriterion::Range: return range(row) >= row.floor;
    case FamilyCriterion::Group: return false;
  }
  return false;
}

constexpr double kShareOfTotal = 1e-3, kShareOfLargest = 1e-2;

// Sets missing floors to a share of the metric's total over all rows, or of its largest row.
void set_floors(std::span<RowFigures> rows) {
  struct Sum {
    double total = 0, largest = 0;
  };
  std::map<std::uint32_t, Sum> sums;  // by metric
  for (const RowFigures& row : rows) {
    if (row.floor > 0) continue;
    Sum& sum = sums[row.metric];
    const double figure = mean(row);
    sum.total += figure;
    sum.largest = std::max(sum.largest, figure);
  }
  for (RowFigures& row : rows)
    if (const auto sum = sums.find(row.metric); row.floor <= 0 && sum != sums.end())
      row.floor = row.is_additive ? sum->second.total * kShareOfTotal
                                  : sum->second.largest * kShareOfLargest;
}

std::vector<RowFigures> select_family_rows(std::vector<RowFigures> rows) {
  std::set<std::uint32_t> groups;
  for (const RowFigures& row : rows)
    if (is_above_floor(row)) groups.insert(row.group);
  std::erase_if(rows, [&](const RowFigures& row) {
    if (row.floor <= 0) return true;  // all values are zero
    return !is_above_floor(row) &&
           (row.criterion == FamilyCriterion::Mean || !groups.contains(row.group));
  });
  return rows;
}

// NaN remains NaN.
double log_with_floor(double figure, double floor) { return std::log(figure + floor); }

}  // namespace

bool can_be_tested(const RowFigures& row) {
  return mean(row) >= 0 && std::ranges::none_of(row.runs, [](double figure) {
           return figure < 0 || std::isinf(figure);
         });
}

struct RowFamily::TestedRows {
  std::vector<Row> rows;
  std::vector<double> floors;
  statistics::FamilyRows figures;
};

// Frees the values row by row, because for many hosts they use most of the memory.
RowFamily::TestedRows RowFamily::select_tested_rows(std::vector<RowFigures> all,
                                                    const statistics::Design& design,
                                                    double alpha) {
  std::erase_if(all, [](const RowFigures& row) { return !can_be_tested(row); });
  set_floors(all);
  std::erase_if(all, [&](const RowFigures& row) {
    return !statistics::is_eligible(row.runs, design, alpha);
  });
  all = select_family_rows(std::move(all));
  std::ranges::sort(all, {}, [](const RowFigures& row) { return Row{row.group, row.metric}; });
  TestedRows found;
  if (!all.empty()) found.figures.values.reserve(all.size() * all.front().runs.size());
  for (RowFigures& row : all) {
    found.rows.emplace_back(row.group, row.metric);
    found.floors.push_back(row.floor);
    found.figures.resolutions.push_back(row.resolution / (mean(row) + row.floor));
    for (const double figure : row.runs)
      found.figures.values.push_back(log_with_floor(figure, row.floor));
    row.runs = {};
  }
  return found;
}

RowFamily::RowFamily(std::vector<RowFigures> rows, const statistics::Design& design, double alpha)
    : RowFamily(select_tested_rows(std::move(rows), design, alpha), design) {}

RowFamily::RowFamily(TestedRows tested_rows, const statistics::Design& design)
    : rows_(std::move(tested_rows.rows)),
      floors_(std::move(tested_rows.floors)),
      family_(design, std::move(tested_rows.figures)) {}

namespace {

constexpr double kRounding = 1e-9;  // as a fraction of the floor: rounding error of a mean of zeros

double subtract_floor(double floor, double log_mean) {
  const double figure = std::exp(log_mean) - floor;
  return figure > kRounding * floor ? figure : 0;
}

// Returns whether the whole interval exceeds the minimum shift in the direction of the change. Uses
// the interval without the floor, as reports show it, unless the baseline is zero.
bool exceeds_min_shift(const RowTestResult& test_result, double min_shift) {
  if (min_shift == 0) return true;
  const RowTestResult shown =
      test_result.baseline_mean == 0 ? test_result : remove_floor(test_result);
  return (shown.shift > 0 ? shown.low : -shown.high) >= min_shift;
}

std::optional<RowTestResult> make_test_result(const statistics::Family& family, std::size_t row,
                                              double floor, const statistics::Interval& interval,
                                              const SignificanceThreshold& threshold) {
  if (std::isnan(family.get_shift(row))) return std::nullopt;
  RowTestResult test_result{std::expm1(family.get_shift(row)), std::expm1(interval.low),
                            std::expm1(interval.high), family.get_p(row)};
  if (std::isinf(interval.low)) test_result.low = interval.low;  // expm1 would return -1
  test_result.unadjusted_p = family.get_unadjusted_p(row);
  test_result.floor = floor;
  test_result.baseline_mean = subtract_floor(floor, family.get_baseline_mean(row));
  test_result.candidate_mean = subtract_floor(floor, family.get_candidate_mean(row));
  test_result.is_significant =
      test_result.p <= threshold.alpha && exceeds_min_shift(test_result, threshold.min_shift);
  return test_result;
}

}  // namespace

RowTestResult remove_floor(const RowTestResult& with_floor) {
  RowTestResult result = with_floor;
  if (result.baseline_mean == 0) {
    result.shift = result.low = result.high = std::nan("");
    return result;
  }
  const double scale = (result.baseline_mean + result.floor) / result.baseline_mean;
  for (double* part : {&result.shift, &result.low, &result.high})
    *part = std::isinf(*part) ? *part : std::max(-1.0, *part * scale);
  return result;
}

std::optional<RowTestResult> test_row(const statistics::Family& family, std::size_t row,
                                      double floor, const SignificanceThreshold& threshold) {
  return make_test_result(family, row, floor, family.compute_interval(row, threshold.alpha),
                          threshold);
}

std::vector<std::optional<RowTestResult>> test_rows(const statistics::Family& family,
                                                    std::span<const double> floors,
                                                    const SignificanceThreshold& threshold) {
  const std::vector<statistics::Interval> intervals = family.compute_all_intervals(threshold.alpha);
  std::vector<std::optional<RowTestResult>> test_results;
  for (std::size_t row = 0; row < family.rows(); ++row)
    test_results.push_back(make_test_result(family, row, floors[row], intervals[row], threshold));
  return test_results;
}

}  // namespace ctprof
