// Tests the rows of a report's HTML page: their order and their changes.

#include "core/page/page_rows.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/support/test_snapshots.hpp"

namespace ctprof::page_rows_test {
namespace {

using namespace hand_made;

const RuleSet kRuleSet;

BOOST_AUTO_TEST_SUITE(page_rows_test)

// Each of two groups has half of each of two metrics, so all rows have the same share.
BOOST_AUTO_TEST_CASE(sorts_rows_with_equal_shares_by_group_and_metric) {
  Snapshot snapshot = snapshot_of({{1, 1, "b", "t"}, {2, 2, "a", "t"}});
  for (const char* name : {"m2", "m1"})
    add_u64(snapshot, metric(name, "MonotonicCount", "SumCount"), {50, 50});
  const auto report =
      Report::make(std::vector<const Snapshot*>{&snapshot}, Spec{}, {&kRuleSet, {}});
  BOOST_REQUIRE_MESSAGE(report, report.error().text);
  std::vector<std::string> order;
  for (const PageRow& row : make_page_rows(*report, true).rows)
    if (row.metric.starts_with("m")) order.push_back(row.group + " " + row.metric);
  BOOST_TEST(order == (std::vector<std::string>{"a m1", "a m2", "b m1", "b m2"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(relates_a_change_to_the_magnitude_of_the_baseline) {
  const auto change = [](std::vector<double> sides) {
    PageRow row;
    row.sides = std::move(sides);
    return row.get_relative_change();
  };
  BOOST_TEST(change({4, 6}) == 0.5);
  BOOST_TEST(change({4, 2}) == -0.5);
  BOOST_TEST(change({-4, -2}) == 0.5);
  BOOST_TEST(change({-4, -6}) == -0.5);
  BOOST_TEST(std::isnan(change({0, 1})));
  BOOST_TEST(std::isnan(change({1})));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::page_rows_test
