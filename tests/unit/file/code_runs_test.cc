// Tests groups of columns with equal runs.

#include "core/file/layout/code_runs.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace ctprof::tests::code_runs_test {
namespace {

BOOST_AUTO_TEST_SUITE(code_runs_test)

// Returns runs whose beginning is the same for all numbers.
Runs make_runs(std::uint64_t number) {
  Runs runs(2000, 3);
  runs.push_back(5);
  runs.push_back(number);
  return runs;
}

class Columns {
 public:
  const Column& add() { return columns_.emplace_back(def_, 1, Gap::None); }

 private:
  SharedMetric def_ = MetricDef();
  std::deque<Column> columns_;
};

BOOST_AUTO_TEST_CASE(groups_have_the_order_of_their_first_column) {
  Columns columns;
  const Column *first = &columns.add(), *second = &columns.add(), *third = &columns.add();
  CodeRuns groups;
  groups.add({1, 5}, *first);
  groups.add({2, 5}, *second);
  groups.add({1, 5}, *third);
  BOOST_REQUIRE(groups.groups().size() == 2);
  BOOST_TEST((groups.groups()[0].runs == Runs{1, 5}));
  BOOST_TEST((groups.groups()[0].columns == std::vector{first, third}));
  BOOST_TEST((groups.groups()[1].columns == std::vector{second}));
}

// A file can have as many groups as columns, whose runs differ only at their end.
BOOST_AUTO_TEST_CASE(work_does_not_grow_with_the_number_of_groups) {
  constexpr std::size_t kGroups = 4000;
  Columns columns;
  CodeRuns groups;
  for (std::size_t i = 0; i < kGroups; ++i) groups.add(make_runs(i), columns.add());
  BOOST_TEST(groups.groups().size() == kGroups);
  BOOST_TEST(groups.comparisons() == 0);
  for (std::size_t i = 0; i < kGroups; ++i) groups.add(make_runs(i), columns.add());
  BOOST_TEST(groups.groups().size() == kGroups);
  BOOST_TEST(groups.comparisons() == kGroups);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::tests::code_runs_test
