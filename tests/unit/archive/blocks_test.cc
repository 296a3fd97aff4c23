// Tests blocks of consecutive windows: their length, their borders, and joining one to a window.

#include "core/archive/blocks.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "core/statistics/autocorrelation.hpp"
#include "tests/unit/archive/archive_fixture.hpp"

namespace ctprof::blocks_test {
namespace {

using namespace tests;

constexpr std::uint64_t kWindow = 5 * kSecond;

// Returns a number from -1 to 1 that is the same with every standard library.
double random_uniform(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1p-52 - 1;
}

// Returns an autoregressive series: each value is `correlation` times the previous value plus
// noise.
std::vector<double> autoregressive_series(std::size_t figures, double correlation,
                                          unsigned seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<double> series;
  double figure = 0;
  for (std::size_t at = 0; at < figures + 200; ++at) {
    figure = correlation * figure + random_uniform(random);
    if (at >= 200) series.push_back(10 + figure);
  }
  return series;
}

WindowSeries series_of(const std::vector<double>& rates, std::size_t gap_before = SIZE_MAX,
                       std::uint64_t window_ns = kWindow) {
  WindowSeries series;
  for (std::size_t at = 0; at < rates.size(); ++at) {
    const std::uint64_t from = at * window_ns + (at >= gap_before ? kMinute : 0);
    WindowRates figures{{from, from}, {from + window_ns, from + window_ns}, "b", {}};
    figures.rates[{"minflt", ""}] = rates[at];
    series.add(at, std::move(figures));
  }
  return series;
}

std::size_t count_windows(const std::vector<WindowRange>& blocks) {
  std::size_t count = 0;
  for (const WindowRange& block : blocks) count += block.count;
  return count;
}

BOOST_AUTO_TEST_SUITE(blocks_test)

// The autocorrelation time of an autoregressive process is (1 + r) / (1 - r).
BOOST_AUTO_TEST_CASE(estimates_the_autocorrelation_time_of_the_process) {
  for (const double r : {0.0, 0.5, 0.8}) {
    const std::vector<std::vector<double>> series{autoregressive_series(20000, r)};
    const auto found = statistics::estimate_autocorrelation_time(series);
    BOOST_TEST(std::abs(found.time - (1 + r) / (1 - r)) < 3 * found.error, r << ": " << found.time);
    BOOST_TEST(found.error < 0.2 * found.time);
  }
  // A steadily rising series is correlated over its whole length.
  std::vector<double> rising(400);
  std::iota(rising.begin(), rising.end(), 1.0);
  const std::vector<std::vector<double>> trend{rising};
  BOOST_TEST(std::isinf(statistics::estimate_shared_autocorrelation_time(trend)));
  const std::vector<std::vector<double>> equal{std::vector<double>(50, 3.0)};
  BOOST_TEST(statistics::estimate_shared_autocorrelation_time(equal) < 1.5);
  BOOST_TEST(statistics::estimate_shared_autocorrelation_time({}) == 1);
}

// One slow series among many fast ones determines the block length, because its row is tested, too.
BOOST_AUTO_TEST_CASE(uses_the_slowest_series) {
  std::vector<std::vector<double>> series;
  for (unsigned seed = 1; seed <= 20; ++seed)
    series.push_back(autoregressive_series(2000, 0, seed));
  const double fast = statistics::estimate_shared_autocorrelation_time(series);
  BOOST_TEST(fast < 1.5);
  series.push_back(autoregressive_series(2000, 0.9));
  BOOST_TEST(statistics::estimate_shared_autocorrelation_time(series) > 3 * fast);
}

BOOST_AUTO_TEST_CASE(blocks_are_equal_consecutive_and_cover_all_windows) {
  const std::vector<WindowSeries> sides{series_of(autoregressive_series(245, 0)),
                                        series_of(autoregressive_series(130, 0, 2))};
  const BlockPlan plan = plan_blocks(sides);
  BOOST_TEST(plan.reason_for_none == "");
  BOOST_REQUIRE(plan.sides.size() == 2u);
  for (std::size_t side = 0; side < 2; ++side) {
    const std::vector<WindowRange>& blocks = plan.sides[side];
    BOOST_TEST(count_windows(blocks) == sides[side].size());
    BOOST_TEST(blocks.size() >= kMinBlocks);
    BOOST_TEST(blocks.size() <= kMaxBlocksOfLongerSide);
    std::size_t next = 0;
    for (const WindowRange& block : blocks) {
      BOOST_TEST(block.first == next);
      BOOST_TEST(block.count + 1 >= blocks.front().count);
      next += block.count;
    }
  }
  // Blocks have the same length on both sides.
  BOOST_TEST(plan.sides[0].front().count + 2 >= plan.sides[1].front().count);
  BOOST_TEST(plan.sides[1].front().count + 2 >= plan.sides[0].front().count);
}

BOOST_AUTO_TEST_CASE(four_blocks_are_enough) {
  std::size_t with_few_blocks = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    const std::vector<WindowSeries> sides{series_of(autoregressive_series(60, 0.6, seed)),
                                          series_of(autoregressive_series(60, 0.6, seed + 100))};
    const BlockPlan plan = plan_blocks(sides);
    if (plan.sides.empty()) continue;
    for (const auto& blocks : plan.sides) BOOST_TEST(blocks.size() >= 4u);
    with_few_blocks += plan.sides[0].size() < 6;
  }
  BOOST_TEST(with_few_blocks > 0u);
}

BOOST_AUTO_TEST_CASE(no_block_covers_a_gap) {
  const std::vector<WindowSeries> sides{series_of(autoregressive_series(200, 0), 73),
                                        series_of(autoregressive_series(200, 0))};
  BOOST_TEST((sides[0].contiguous_ranges() == std::vector<WindowRange>{{0, 73}, {73, 127}}));
  const BlockPlan plan = plan_blocks(sides);
  BOOST_REQUIRE(plan.sides.size() == 2u);
  for (const WindowRange& block : plan.sides[0])
    BOOST_TEST((block.first >= 73 || block.first + block.count <= 73));
}

// A window that could not be read has no values, and its number is missing.
BOOST_AUTO_TEST_CASE(a_missing_window_is_a_gap) {
  WindowSeries series;
  for (const std::size_t number : {0, 1, 3, 4}) {
    const std::uint64_t from = number * kWindow;
    series.add(number, {{from, from}, {from + kWindow, from + kWindow}, "b", {}});
  }
  BOOST_TEST((series.contiguous_ranges() == std::vector<WindowRange>{{0, 2}, {3, 2}}));
}

BOOST_AUTO_TEST_CASE(blocks_of_different_windows_cover_equal_time) {
  const std::vector<WindowSeries> sides{
      series_of(autoregressive_series(240, 0)),
      series_of(autoregressive_series(120, 0, 3), SIZE_MAX, 2 * kWindow)};
  const BlockPlan plan = plan_blocks(sides);
  BOOST_REQUIRE(plan.sides.size() == 2u);
  const auto before = static_cast<double>(plan.sides[0].front().count),
             after = 2 * static_cast<double>(plan.sides[1].front().count);
  BOOST_TEST(std::abs(before - after) <= 2);
}

// The shorter side determines the length of blocks, and the longer side has more of them.
BOOST_AUTO_TEST_CASE(a_longer_side_has_more_blocks) {
  const std::vector<WindowSeries> sides{series_of(autoregressive_series(600, 0)),
                                        series_of(autoregressive_series(60, 0, 3))};
  const BlockPlan plan = plan_blocks(sides);
  BOOST_TEST(plan.reason_for_none == "");
  BOOST_REQUIRE(plan.sides.size() == 2u);
  BOOST_TEST(plan.sides[0].size() > 4 * plan.sides[1].size());
  BOOST_TEST(plan.sides[0].size() <= kMaxBlocksOfLongerSide);
}

BOOST_AUTO_TEST_CASE(counts_windows_between_close_gaps) {
  WindowSeries series;
  const std::vector<double> rates = autoregressive_series(220, 0);
  std::uint64_t from = 0;
  for (std::size_t at = 0; at < rates.size(); ++at, from += kWindow) {
    if (at > 200 && at % 4 == 0) from += kMinute;  // groups of four windows
    WindowRates figures{{from, from}, {from + kWindow, from + kWindow}, "b", {}};
    figures.rates[{"minflt", ""}] = rates[at];
    series.add(at, figures);
  }
  const BlockPlan plan =
      plan_blocks(std::vector{series, series_of(autoregressive_series(220, 0, 2))});
  BOOST_REQUIRE(plan.sides.size() == 2u);
  BOOST_TEST(plan.messages[0].find("gaps divide the windows into 5 parts") != std::string::npos,
             plan.messages[0]);
  BOOST_TEST(plan.messages[0].find("16 windows next to gaps are not used") != std::string::npos,
             plan.messages[0]);
}

BOOST_AUTO_TEST_CASE(windows_without_length_are_not_tested) {
  WindowSeries empty;
  for (std::size_t at = 0; at < 40; ++at) empty.add(at, {{5, 5}, {5, 5}, "b", {}});
  const BlockPlan plan = plan_blocks(std::vector{empty, empty});
  BOOST_TEST(plan.sides.empty());
  BOOST_TEST(plan.reason_for_none == "cannot test for significance: the windows have length zero");
}

BOOST_AUTO_TEST_CASE(too_few_windows_or_blocks_are_not_tested) {
  const WindowSeries enough = series_of(autoregressive_series(100, 0)),
                     few = series_of(autoregressive_series(29, 0)),
                     slow = series_of(autoregressive_series(100, 0.97));
  const BlockPlan plan_of_few = plan_blocks(std::vector{enough, few});
  BOOST_TEST(plan_of_few.sides.empty());
  BOOST_TEST(plan_of_few.reason_for_none ==
             "too few windows to test: 29 on one side; each side needs at least 30");
  const BlockPlan plan_of_slow = plan_blocks(std::vector{enough, slow});
  BOOST_TEST(plan_of_slow.sides.empty());
  BOOST_TEST(plan_of_slow.reason_for_none.starts_with("too few blocks to test: 100 windows have "));
}

// The values of a window are counts per second; a block is the joined window.
BOOST_AUTO_TEST_CASE(joins_a_block_to_one_window) {
  std::vector<Snapshot> windows;
  for (std::uint64_t at = 0; at < 6; ++at)
    windows.push_back(window_of(kBegin + at * kMinute, kBegin + (at + 1) * kMinute));
  for (Snapshot& window : windows) {
    MetricDef counted = kFaults;
    counted.headline = Headline{"flt/s", 1, CTPROF_SHOWN_RATE, false, 1};
    Table& threads = window.threads();
    Column copy(counted, threads.rows, Gap::None);
    for (std::size_t row = 0; row < threads.rows; ++row)
      copy.copy_from(row, *threads.find("minflt"), row);
    std::erase_if(threads.columns, [](const Column& c) { return c.def().name == "minflt"; });
    threads.columns.push_back(std::move(copy));
    const WindowRates figures = rates_of(window);
    BOOST_TEST(figures.rates.at({"minflt", ""}) == 1.0);
    BOOST_TEST(figures.rates.at({"minflt", "p"}) == 1.0);
  }
  std::vector<std::size_t> read;
  auto block = join_block({2, 3}, [&](std::size_t number) -> Result<Snapshot> {
    read.push_back(number);
    return std::move(windows[number]);
  });
  BOOST_REQUIRE_MESSAGE(block, block.error().text);
  BOOST_TEST(read == (std::vector<std::size_t>{2, 3, 4}), boost::test_tools::per_element());
  BOOST_TEST(seconds_in(*block) == 180u);
}

BOOST_AUTO_TEST_CASE(does_not_join_windows_that_are_not_consecutive) {
  std::vector<Snapshot> windows;
  windows.push_back(window_of(kBegin, kBegin + kMinute));
  windows.push_back(window_of(kBegin + 2 * kMinute, kBegin + 3 * kMinute));
  const auto block = join_block(
      {0, 2}, [&](std::size_t number) -> Result<Snapshot> { return std::move(windows[number]); });
  BOOST_REQUIRE(!block);
  BOOST_TEST(block.error().text ==
             "reading consecutive windows: they changed while they were read; try again");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::blocks_test
