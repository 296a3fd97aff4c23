// The rows of a report's page: their order.

#include "core/page/page_rows.hpp"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/unit/support/hand_made.hpp"

namespace ctprof::page_rows_test {
namespace {

using namespace hand_made;

const RuleBook book;

BOOST_AUTO_TEST_SUITE(page_rows_test)

// Two groups have half of each of two metrics, so all rows have the same share.
BOOST_AUTO_TEST_CASE(rows_of_equal_shares_are_sorted_by_group_and_then_by_metric) {
  Snapshot snapshot = snapshot_of({{1, 1, "b", "t"}, {2, 2, "a", "t"}});
  for (const char* name : {"m2", "m1"})
    add_u64(snapshot, metric(name, "MonotonicCount", "SumCount"), {50, 50});
  const auto report = Report::make(std::vector<const Snapshot*>{&snapshot}, Spec{}, {&book, {}});
  BOOST_REQUIRE_MESSAGE(report, report.error().text);
  std::vector<std::string> order;
  for (const PageRow& row : page_rows(*report, true).rows)
    if (row.metric.starts_with("m")) order.push_back(row.group + " " + row.metric);
  BOOST_TEST(order == (std::vector<std::string>{"a m1", "a m2", "b m1", "b m2"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::page_rows_test
