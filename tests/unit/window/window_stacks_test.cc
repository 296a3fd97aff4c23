// Tests stacks in windows: recorded stacks have no opening value to subtract, and consecutive
// windows add their stacks.

#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/window/laps.hpp"
#include "core/window/merge_ended.hpp"
#include "tests/unit/support/made_stacks.hpp"
#include "tests/unit/support/window_made.hpp"

namespace ctprof::window_stacks_test {
namespace {

using namespace hand_made;

// Adds the stacks of a recorder to the rows of a window, in row order.
Snapshot recorded(Snapshot window, const Cells<StackValue>& cells) {
  add_stacks(window, kStacks, cells);
  return window;
}

Snapshot lap(const Snapshot& before, Snapshot after, Ended ended, const Cells<StackValue>& cells) {
  auto made = make_window(before, std::move(after), std::move(ended));
  BOOST_REQUIRE(made);
  return recorded(std::move(*made), cells);
}

// Returns the stacks of all rows, such as "1: main 2; 7: ThreadGone".
std::string told(const Snapshot& snapshot) {
  const Column *tids = snapshot.threads().find(kTid),
               *stacks = snapshot.threads().find(kStacks.name);
  if (!stacks) return "no column";
  std::string text;
  for (std::size_t row = 0; row < stacks->rows(); ++row)
    text += (row ? "; " : "") + std::to_string(tids->u64()[row]) + ": " +
            stacks_of(snapshot, *stacks, row);
  return text;
}

BOOST_AUTO_TEST_SUITE(window_stacks_test)

BOOST_AUTO_TEST_CASE(recorded_stacks_have_no_base) {
  Snapshot window = lap(taken(10, {{1, 5}, {2, 5}}), taken(20, {{1, 5}}), ended_at(15, {{2, 5}}),
                        {{{{"main;work", 7}}}, {{{"main", 3}}}});
  to_differences(window);
  BOOST_TEST(told(window) == "1: main;work 7; 2: main 3");
  BOOST_TEST(told(begin_of(lap(taken(10, {{1, 5}}), taken(20, {{1, 5}}), {}, {{}}))) ==
             "no column");
  BOOST_TEST(told(end_of(std::move(window))) == "no column");
}

BOOST_AUTO_TEST_CASE(joined_windows_add_equal_stacks) {
  const std::vector<Born> first{{1, 5}, {2, 5}}, second{{1, 5}, {2, 5}, {3, 1500}},
      third{{1, 5}, {4, 2500}}, last{{1, 5}};
  Laps laps(lap(taken(10, first), taken(20, second), ended_at(15, {{9, 1200}}),
                {{{{"main;work", 7}, {"main", 1}}},
                 {{{"main;wait", 2}}},
                 {{{"main", 3}}},
                 {{{"main;end", 1}}}}));
  laps.add(lap(taken(20, second), taken(30, third), ended_at(25, {{2, 5}, {3, 1500}}),
               {{{{"other", 5}, {"main;work", 10}}}, {}, {{{"main;wait", 40}}}, {{{"main", 4}}}}));
  laps.add(lap(taken(30, third), taken(40, last), ended_at(35, {{4, 2500}}),
               {{{{"main;work", 100}}}, {{{"main", 6}}}}));
  auto whole = std::move(laps).join();
  BOOST_REQUIRE(whole);
  BOOST_TEST(told(*whole) ==
             "1: main 1, main;work 117, other 5; 2: main;wait 42; 3: main 7; 4: main 6; "
             "9: main;end 1");
  BOOST_TEST(whole->window->notes.empty());
}

// A recorder may run in only some of the windows, and a thread may disappear without an exit
// report.
BOOST_AUTO_TEST_CASE(reports_stacks_of_threads_without_a_row) {
  const std::vector<Born> both{{1, 5}, {2, 5}}, one{{1, 5}};
  Laps laps(lap(taken(10, both), taken(20, both), {}, {{{{"main", 7}}}, {{{"main", 2}}}}));
  auto second = make_window(taken(20, both), taken(30, one), {});
  laps.add(std::move(*second));
  auto whole = std::move(laps).join();
  BOOST_REQUIRE(whole);
  BOOST_TEST(told(*whole) == "1: main 7");
  BOOST_TEST(whole->window->notes ==
                 std::vector<std::string>{"2 ns of oncpu_stacks are of threads that are in no row"},
             boost::test_tools::per_element());
}

// --- numbers of a recorder ---

MetricDef number(const char* name, const char* newtype, const char* rule, const char* reduction) {
  MetricDef def = metric(name, newtype, rule);
  def.reduction = reduction;
  def.of_window = true;
  return def;
}

// Adds a sum, a maximum and a minimum to the rows of a window, in row order.
Snapshot with_numbers(Snapshot window, const Cells<std::uint64_t>& cells) {
  for (const MetricDef& def : {number("samples", "MonotonicCount", "SumCount", "sum"),
                               number("longest", "PeakNs", "MaxPeak", "max"),
                               number("shortest", "GaugeNs", "x_least", "min")})
    add_u64(window, def, cells, Gap::NotApplicable);
  begin_at_zero(window, *window.threads().find("samples"));
  return window;
}

std::string told_numbers(const Snapshot& snapshot, const std::string& name) {
  const Column *tids = snapshot.threads().find(kTid), *column = snapshot.threads().find(name);
  if (!column) return "no column";
  std::string text;
  for (std::size_t row = 0; row < column->rows(); ++row)
    text += (row ? "; " : "") + std::to_string(tids->u64()[row]) + ": " +
            (column->has_value(row) ? std::to_string(column->u64()[row]) : "-");
  return text;
}

BOOST_AUTO_TEST_CASE(joined_windows_reduce_numbers_by_their_rule) {
  const std::vector<Born> first{{1, 5}, {2, 5}}, second{{1, 5}, {2, 5}, {3, 1500}}, third{{1, 5}};
  const auto made = [](const std::vector<Born>& before, const std::vector<Born>& after, Ended ended,
                       std::uint64_t second_of, const Cells<std::uint64_t>& cells) {
    auto window =
        make_window(taken(second_of, before), taken(second_of + 10, after), std::move(ended));
    BOOST_REQUIRE(window);
    return with_numbers(std::move(*window), cells);
  };
  Laps laps(made(first, second, {}, 10, {7, 2, 3}));
  laps.add(made(second, third, ended_at(25, {{2, 5}, {3, 1500}}), 20, {5, 40, std::nullopt}));
  auto whole = std::move(laps).join();
  BOOST_REQUIRE(whole);
  to_differences(*whole);
  BOOST_TEST(told_numbers(*whole, "samples") == "1: 12; 2: 42; 3: 3");
  BOOST_TEST(told_numbers(*whole, "longest") == "1: 7; 2: 40; 3: 3");
  BOOST_TEST(told_numbers(*whole, "shortest") == "1: 5; 2: 2; 3: 3");
}

BOOST_AUTO_TEST_CASE(numbers_of_a_window_have_no_lifetime) {
  const std::vector<Born> both{{1, 5}, {2, 5}};
  const auto made = [&] {
    auto window = make_window(taken(10, both), taken(20, both), {});
    BOOST_REQUIRE(window);
    return with_numbers(std::move(*window), {7, 2});
  };
  for (const char* name : {"samples", "longest", "shortest"}) {
    BOOST_TEST(told_numbers(end_of(made()), name) == "no column");
    BOOST_TEST(told_numbers(begin_of(made()), name) == "no column");
  }
  BOOST_TEST(begin_of(made()).threads().rows == 2u);
}

BOOST_AUTO_TEST_CASE(merged_rows_merge_their_stacks) {
  Ended ended = ended_at(15, {{7, 1200}, {8, 1300}, {9, 1400}, {6, 5}});
  add_stacks(ended.rows, kStacks,
             {{}, {{{"main;work", 1}}}, {{{"main;work", 2}, {"main", 3}}}, {{{"other", 4}}}});
  merge_ended(ended, 100, 3);
  BOOST_TEST(told(ended.rows) == "7: main 3, main;work 3; 6: other 4");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::window_stacks_test
