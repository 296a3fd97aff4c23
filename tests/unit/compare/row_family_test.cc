// Tests which rows form a family for the significance test, based only on their values, and that
// the intervals of all rows equal those of single rows.

#include <algorithm>
#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <vector>

#include "core/compare/evidence/row_family.hpp"
#include "core/statistics/eligible_rows.hpp"
#include "core/statistics/family.hpp"

namespace ctprof::row_family_test {
namespace {

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();
constexpr statistics::Design kTwoRunsPerSide{2, 2};
constexpr double kAlpha = 0.05;

RowFigures row(std::uint32_t group, std::uint32_t metric, double floor, std::vector<double> runs,
               FamilyCriterion entry = FamilyCriterion::Mean) {
  return {group, metric, entry, floor, true, 0, std::move(runs)};
}

using Rows = std::vector<RowFamily::Row>;

Rows tested_rows(std::vector<RowFigures> rows) {
  const RowFamily family(std::move(rows), kTwoRunsPerSide, kAlpha);
  return {family.rows().begin(), family.rows().end()};
}

// The statistics of all labellings, computed a second time. Mirrored labellings have the same.
std::vector<double> statistics_of_labellings(const std::vector<double>& figures) {
  std::vector<double> all;
  for (unsigned chosen = 0; chosen < 1u << figures.size(); ++chosen) {
    if (std::popcount(chosen) * 2 != std::ssize(figures) || chosen % 2 != 0) continue;
    double sums[2] = {}, squares = 0;
    for (std::size_t run = 0; run < figures.size(); ++run) sums[chosen >> run & 1] += figures[run];
    const double n = static_cast<double>(figures.size()) / 2;
    for (std::size_t run = 0; run < figures.size(); ++run)
      squares += std::pow(figures[run] - sums[chosen >> run & 1] / n, 2);
    all.push_back(std::abs(sums[0] - sums[1]) / n / std::sqrt(squares / (2 * n - 2) * 2 / n));
  }
  std::ranges::sort(all, std::greater());
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(row_family_test)

BOOST_AUTO_TEST_CASE(tests_rows_above_their_floor_in_order) {
  BOOST_TEST((tested_rows({row(2, 0, 10, {9, 10, 11, 10}), row(1, 5, 10, {8, 9, 10, 8}),
                           row(1, 0, 10, {0, 0, 20, 40}), row(0, 3, 10, {kGap, 11, 13, 12})}) ==
              Rows{{0, 3}, {1, 0}, {2, 0}}));
}

// With 4 + 4 runs, 2 nonzero values are on the same side in 6 of 14 labellings, and 4 in 1 of 35.
// With 6 pairs, 5 different pairs give p 0.0625.
BOOST_AUTO_TEST_CASE(omits_rows_and_groups_in_too_few_runs) {
  const auto rows_of = [](const statistics::Design& design, double alpha,
                          std::vector<std::vector<double>> all) {
    std::vector<RowFigures> rows;
    for (std::uint32_t at = 0; at < all.size(); ++at)
      rows.push_back(row(at, 0, 1, std::move(all[at])));
    rows.push_back(row(0, 1, 1, {7, 6, 5, 4, 3, 2, 1, 8, 7, 6, 5, 4}, FamilyCriterion::Group));
    rows.back().runs.resize(design.runs());
    const RowFamily family(std::move(rows), design, alpha);
    return Rows(family.rows().begin(), family.rows().end());
  };
  constexpr statistics::Design kFourRunsPerSide{4, 4}, kPairs{6, 6, true};
  BOOST_TEST((rows_of(kFourRunsPerSide, kAlpha,
                      {{0, 90, 0, 0, 0, 80, 0, 0}, {0, 90, 0, 70, 0, 80, 0, 60}}) == Rows{{1, 0}}));
  BOOST_TEST(
      (rows_of(kFourRunsPerSide, 0.5, {{0, 90, 0, 0, 0, 80, 0, 0}}) == Rows{{0, 0}, {0, 1}}));
  BOOST_TEST((rows_of(kPairs, kAlpha,
                      {{4, 8, 7, 6, 5, 9, 3, 8, 6, 5, 4, 8},
                       {4, 8, 7, 6, 5, 9, 3, 7, 6, 5, 4, 8}}) == Rows{{1, 0}}));
  // So few runs cannot be significant, but the rows with the smallest possible p are tested anyway.
  BOOST_TEST((rows_of({2, 2}, kAlpha, {{5, 6, 8, 9}, {5, 5, 5, 9}}) == Rows{{0, 0}, {0, 1}}));
}

BOOST_AUTO_TEST_CASE(the_smallest_p_of_a_row_depends_on_its_distinct_values) {
  using statistics::compute_smallest_p;
  BOOST_TEST(compute_smallest_p({4, 4}, 2) == 3.0 / 7, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(compute_smallest_p({4, 4}, 3) == 1.0 / 7, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(compute_smallest_p({4, 4}, 6) == 2.0 / 70, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(compute_smallest_p({2, 5}, 1) == 2.0 / 7, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(compute_smallest_p({6, 6, true}, 5) == 0.0625);
  BOOST_TEST(compute_smallest_p({6, 6, true}, 0) == 1);
  const std::vector<double> row{1, 1 + 1e-15, kGap, 2, 1, 1};
  BOOST_TEST(statistics::count_different_figures(row, {3, 3}) == 1u);
  BOOST_TEST(statistics::count_different_figures(row, {3, 3, true}) == 1u);
}

BOOST_AUTO_TEST_CASE(levels_qualify_by_range_and_other_rows_by_group) {
  const auto level = [](std::uint32_t group, std::vector<double> runs) {
    return row(group, 1, 10, std::move(runs), FamilyCriterion::Range);
  };
  BOOST_TEST((tested_rows({level(0, {100, 105, 102, 100}), level(1, {100, 111, 102, 100})}) ==
              Rows{{1, 1}}));
  BOOST_TEST((tested_rows({level(0, {100, 101, 102, 100}), row(0, 0, 1, {5, 6, 7, 5}),
                           row(0, 2, 10, {1, 2, 3, 1}, FamilyCriterion::Group),
                           row(1, 2, 10, {50, 51, 52, 50}, FamilyCriterion::Group)}) ==
              Rows{{0, 0}, {0, 1}, {0, 2}}));
}

// Rounding in the last digits of a sum of 1,501 values must not count as a difference.
BOOST_AUTO_TEST_CASE(a_row_of_equal_values_does_not_rank_above_others) {
  constexpr statistics::Design kManyRuns{1000, 501};
  std::vector<double> shifted(kManyRuns.runs()), even(kManyRuns.runs(), 0);
  for (std::size_t run = 0; run < shifted.size(); ++run)
    shifted[run] = static_cast<double>(20 + run % 7 + (run < kManyRuns.baseline ? 0 : 2));
  statistics::FamilyRows rows;
  for (const double run : shifted) rows.values.push_back(std::log(run + 1));
  for (const double floor : {1048576., 3.})
    for (const double run : even) rows.values.push_back(std::log(run + floor));
  rows.resolutions.assign(3, 0);
  BOOST_TEST(statistics::Family(kManyRuns, std::move(rows)).get_p(0) < 0.001);
}

BOOST_AUTO_TEST_CASE(a_metric_without_a_floor_gets_a_relative_floor) {
  // A thousandth of 1,000.5, and a hundredth of 1,000.
  BOOST_TEST((tested_rows({row(0, 0, 0, {1000, 1001, 999, 1000}),
                           row(1, 0, 0, {.5, .6, .4, .5})}) == Rows{{0, 0}}));
  std::vector<RowFigures> rows{row(0, 0, 0, {1000, 1001, 999, 1000}), row(1, 0, 0, {2, 3, 1, 2}),
                               row(2, 0, 0, {11, 12, 10, 11})};
  BOOST_TEST((tested_rows(rows) == Rows{{0, 0}, {1, 0}, {2, 0}}));
  for (RowFigures& one : rows) one.is_additive = false;
  BOOST_TEST((tested_rows(rows) == Rows{{0, 0}, {2, 0}}));
  BOOST_TEST((tested_rows({row(0, 0, 0, {0, 0, 0, 0})}) == Rows{}));
}

BOOST_AUTO_TEST_CASE(missing_values_are_never_tested) {
  BOOST_TEST((tested_rows({row(0, 0, 1, {5, 6, -1, 5}), row(1, 0, 1, {5, 6, INFINITY, 5}),
                           row(2, 0, 1, {kGap, kGap, kGap, kGap}), row(3, 0, 1, {5, 6, 7, 5})}) ==
              Rows{{3, 0}}));
}

BOOST_AUTO_TEST_CASE(a_shift_is_a_ratio_of_values_plus_floor) {
  const RowFamily family({row(0, 0, 10, {90, 90, 190, 190})}, kTwoRunsPerSide, kAlpha);
  const auto proof = family.result(0, SignificanceThreshold{});
  BOOST_TEST(proof->shift == 1.0, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(!proof->is_significant);  // two runs per side are never significant
}

// A floor as large as the values halves the tested shift, but not the shift that is shown.
BOOST_AUTO_TEST_CASE(min_shift_applies_to_the_interval_without_the_floor) {
  const std::vector<double> grows{100, 100.2, 100.1, 100.3, 130, 130.2, 130.1, 130.3};
  std::vector<double> shrinks(grows.rbegin(), grows.rend()), starts(grows);
  for (std::size_t run = 0; run < 4; ++run) starts[run] = 0;
  const RowFamily family({row(0, 0, 100, grows), row(1, 0, 100, shrinks), row(2, 0, 10, starts)},
                         {4, 4}, kAlpha);
  for (std::size_t at = 0; at < 3; ++at) {
    const RowTestResult proof = *family.result(at, {kAlpha, 0});
    const RowTestResult shown = at == 2 ? proof : remove_floor(proof);
    const double nearest = proof.shift > 0 ? shown.low : -shown.high;
    BOOST_TEST_REQUIRE(proof.is_significant);
    BOOST_TEST_REQUIRE(nearest > 0.1);
    BOOST_TEST(family.result(at, {kAlpha, nearest * 0.999})->is_significant);
    BOOST_TEST(!family.result(at, {kAlpha, nearest * 1.001})->is_significant);
  }
}

BOOST_AUTO_TEST_CASE(intervals_of_all_rows_equal_those_of_single_rows) {
  std::vector<RowFigures> rows;
  for (std::uint32_t at = 0; at < 150; ++at) {
    RowFigures one = row(at, at % 3, 1, {});
    for (std::uint32_t run = 0; run < 11; ++run)
      one.runs.push_back((at * 7 + run * 5) % 13 == 0 && at % 4 == 0
                             ? kGap
                             : 100 + (at * 31 + run * 17) % 29 + (run >= 5 ? at % 10 : 0));
    rows.push_back(std::move(one));
  }
  const RowFamily family(std::move(rows), {5, 6}, kAlpha);
  const auto all = family.results(SignificanceThreshold{});
  BOOST_TEST(all.size() == 150u);
  for (std::size_t at = 0; at < all.size(); ++at) {
    const auto one = family.result(at, SignificanceThreshold{});
    BOOST_TEST_REQUIRE(all[at].has_value() == one.has_value());
    if (!one) continue;
    BOOST_TEST(all[at]->low == one->low);
    BOOST_TEST(all[at]->high == one->high);
    BOOST_TEST((one->low <= one->shift && one->shift <= one->high));
  }
}

BOOST_AUTO_TEST_CASE(means_of_pairs_use_only_complete_pairs) {
  statistics::FamilyRows rows{{kGap, 10, 12, 50, 13, 15}, {0.1}};
  const statistics::Family paired({3, 3, true}, rows), unpaired({3, 3, false}, rows);
  BOOST_TEST(paired.get_baseline_mean(0) == 11);
  BOOST_TEST(paired.get_candidate_mean(0) == 14);
  BOOST_TEST(unpaired.get_candidate_mean(0) == 26);
}

// Of 35 labellings, k have a statistic of at least the required one for an alpha of k / 35.
BOOST_AUTO_TEST_CASE(required_statistics_have_a_p_of_alpha) {
  const std::vector<double> figures{3, 90, 41, 7, 160, 22, 75, 118};
  const auto all = statistics_of_labellings(figures);
  BOOST_TEST_REQUIRE(all.size() == 35u);
  const statistics::Family family({4, 4}, {figures, {statistics::kMinResolution}});
  BOOST_TEST(std::isnan(family.compute_required_statistic(0.5 / 35)));
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    BOOST_TEST(
        family.compute_required_statistic((static_cast<double>(rank) + 0.5) / 35) == all[rank - 1],
        boost::test_tools::tolerance(1e-4));
}

// A program whose memory grows from each run to the next. All values are in the order of the pairs.
BOOST_AUTO_TEST_CASE(omits_rows_of_pairs_that_follow_a_trend) {
  constexpr statistics::Design kPairs{6, 6, true};
  const std::vector<double> leak{10, 13, 14, 16, 19, 20, 11, 12, 15, 17, 18, 21};
  BOOST_TEST(statistics::follows_trend(leak, kPairs));
  BOOST_TEST(!statistics::is_eligible(leak, kPairs, kAlpha));
  std::vector<double> falls;
  for (const double value : leak) falls.push_back(-value);
  BOOST_TEST(statistics::follows_trend(falls, kPairs));
  auto other = leak;
  std::swap(other[0], other[1]);  // the first pair is above the second one
  BOOST_TEST(!statistics::follows_trend(other, kPairs));
  other = leak;
  for (std::size_t run = 6; run < 12; ++run) other[run] += 5;  // a shift beyond the trend
  BOOST_TEST(!statistics::follows_trend(other, kPairs));
  other = leak;
  other[3] = kGap;
  BOOST_TEST(!statistics::follows_trend(other, kPairs));
  BOOST_TEST(!statistics::follows_trend(leak, {6, 6}));
  BOOST_TEST(!statistics::follows_trend(std::vector<double>{1, 3, 5, 7, 2, 4, 6, 8}, {4, 4, true}));
  BOOST_TEST(!statistics::follows_trend(std::vector<double>(12, 5), kPairs));
}

// The growing level differs equally in all pairs: one exchange of runs would exceed every other
// row.
BOOST_AUTO_TEST_CASE(a_growing_level_hides_no_shift) {
  constexpr statistics::Design kPairs{6, 6, true};
  const RowFigures svc = row(0, 0, 1, {100, 103, 99, 101, 102, 100, 120, 122, 119, 123, 121, 120}),
                   leak = row(1, 0, 1, {10, 13, 14, 16, 19, 20, 11, 12, 15, 17, 18, 21},
                              FamilyCriterion::Range);
  const RowFamily family({svc, leak}, kPairs, kAlpha);
  BOOST_REQUIRE(family.rows().size() == 1);
  BOOST_TEST(family.family().get_p(0) == 1.0 / 32);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace ctprof::row_family_test
