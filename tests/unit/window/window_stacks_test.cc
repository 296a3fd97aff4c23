// Tests stacks in windows: recorded stacks have no opening value to subtract, and consecutive
// windows add their stacks.

#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/window/join_windows.hpp"
#include "core/window/merge_exited_threads.hpp"
#include "tests/unit/support/named_stacks.hpp"
#include "tests/unit/support/test_windows.hpp"

namespace ctprof::window_stacks_test {
namespace {

using namespace hand_made;

// Adds the stacks of a recorder to the rows of a window, in row order.
Snapshot add_recorded_stacks(Snapshot window, const Cells<StackValue>& cells) {
  add_stacks(window, kStacks, cells);
  return window;
}

Snapshot make_window_with_stacks(const Snapshot& before, Snapshot after, ExitedThreads ended,
                                 const Cells<StackValue>& cells) {
  auto made = make_window(before, std::move(after), std::move(ended));
  BOOST_REQUIRE(made);
  return add_recorded_stacks(std::move(*made), cells);
}

// Returns the stacks of all rows, such as "1: main 2; 7: ThreadGone".
std::string stack_texts(const Snapshot& snapshot) {
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
  Snapshot window =
      make_window_with_stacks(snapshot_at(10, {{1, 5}, {2, 5}}), snapshot_at(20, {{1, 5}}),
                              exited_at(15, {{2, 5}}), {{{{"main;work", 7}}}, {{{"main", 3}}}});
  convert_to_differences(window);
  BOOST_TEST(stack_texts(window) == "1: main;work 7; 2: main 3");
  BOOST_TEST(stack_texts(opening_snapshot(make_window_with_stacks(
                 snapshot_at(10, {{1, 5}}), snapshot_at(20, {{1, 5}}), {}, {{}}))) == "no column");
  BOOST_TEST(stack_texts(closing_snapshot(std::move(window))) == "no column");
}

BOOST_AUTO_TEST_CASE(joined_windows_add_equal_stacks) {
  const std::vector<StartedThread> first{{1, 5}, {2, 5}}, second{{1, 5}, {2, 5}, {3, 1500}},
      third{{1, 5}, {4, 2500}}, last{{1, 5}};
  WindowJoiner joiner(make_window_with_stacks(snapshot_at(10, first), snapshot_at(20, second),
                                              exited_at(15, {{9, 1200}}),
                                              {{{{"main;work", 7}, {"main", 1}}},
                                               {{{"main;wait", 2}}},
                                               {{{"main", 3}}},
                                               {{{"main;end", 1}}}}));
  joiner.add(make_window_with_stacks(
      snapshot_at(20, second), snapshot_at(30, third), exited_at(25, {{2, 5}, {3, 1500}}),
      {{{{"other", 5}, {"main;work", 10}}}, {}, {{{"main;wait", 40}}}, {{{"main", 4}}}}));
  joiner.add(make_window_with_stacks(snapshot_at(30, third), snapshot_at(40, last),
                                     exited_at(35, {{4, 2500}}),
                                     {{{{"main;work", 100}}}, {{{"main", 6}}}}));
  auto whole = std::move(joiner).join();
  BOOST_REQUIRE(whole);
  BOOST_TEST(stack_texts(*whole) ==
             "1: main 1, main;work 117, other 5; 2: main;wait 42; 3: main 7; 4: main 6; "
             "9: main;end 1");
  BOOST_TEST(whole->window->notes.empty());
}

// A recorder may run in only some of the windows, and a thread may disappear without an exit
// report.
BOOST_AUTO_TEST_CASE(reports_stacks_of_threads_without_a_row) {
  const std::vector<StartedThread> both{{1, 5}, {2, 5}}, one{{1, 5}};
  WindowJoiner joiner(make_window_with_stacks(snapshot_at(10, both), snapshot_at(20, both), {},
                                              {{{{"main", 7}}}, {{{"main", 2}}}}));
  auto second = make_window(snapshot_at(20, both), snapshot_at(30, one), {});
  joiner.add(std::move(*second));
  auto whole = std::move(joiner).join();
  BOOST_REQUIRE(whole);
  BOOST_TEST(stack_texts(*whole) == "1: main 7");
  BOOST_TEST(whole->window->notes ==
                 std::vector<std::string>{"2 ns of oncpu_stacks belong to threads without a row"},
             boost::test_tools::per_element());
}

// --- numbers of a recorder ---

MetricDef number_metric(const char* name, const char* newtype, const char* rule,
                        const char* reduction) {
  MetricDef def = metric(name, newtype, rule);
  def.reduction = reduction;
  def.covers_window = true;
  return def;
}

// Adds a sum, a maximum and a minimum to the rows of a window, in row order.
Snapshot with_numbers(Snapshot window, const Cells<std::uint64_t>& cells) {
  for (const MetricDef& def : {number_metric("samples", "MonotonicCount", "SumCount", "sum"),
                               number_metric("longest", "PeakNs", "MaxPeak", "max"),
                               number_metric("shortest", "GaugeNs", "x_least", "min")})
    add_u64(window, def, cells, Gap::NotApplicable);
  add_zero_base(window, *window.threads().find("samples"));
  return window;
}

std::string number_texts(const Snapshot& snapshot, const std::string& name) {
  const Column *tids = snapshot.threads().find(kTid), *column = snapshot.threads().find(name);
  if (!column) return "no column";
  std::string text;
  for (std::size_t row = 0; row < column->rows(); ++row)
    text += (row ? "; " : "") + std::to_string(tids->u64()[row]) + ": " +
            (column->has_value(row) ? std::to_string(column->u64()[row]) : "-");
  return text;
}

BOOST_AUTO_TEST_CASE(joined_windows_reduce_numbers_by_their_rule) {
  const std::vector<StartedThread> first{{1, 5}, {2, 5}}, second{{1, 5}, {2, 5}, {3, 1500}},
      third{{1, 5}};
  const auto made = [](const std::vector<StartedThread>& before,
                       const std::vector<StartedThread>& after, ExitedThreads ended,
                       std::uint64_t second_of, const Cells<std::uint64_t>& cells) {
    auto window = make_window(snapshot_at(second_of, before), snapshot_at(second_of + 10, after),
                              std::move(ended));
    BOOST_REQUIRE(window);
    return with_numbers(std::move(*window), cells);
  };
  WindowJoiner joiner(made(first, second, {}, 10, {7, 2, 3}));
  joiner.add(made(second, third, exited_at(25, {{2, 5}, {3, 1500}}), 20, {5, 40, std::nullopt}));
  auto whole = std::move(joiner).join();
  BOOST_REQUIRE(whole);
  convert_to_differences(*whole);
  BOOST_TEST(number_texts(*whole, "samples") == "1: 12; 2: 42; 3: 3");
  BOOST_TEST(number_texts(*whole, "longest") == "1: 7; 2: 40; 3: 3");
  BOOST_TEST(number_texts(*whole, "shortest") == "1: 5; 2: 2; 3: 3");
}

const MetricDef kWaits = [] {
  MetricDef def = metric("waits", "HistogramNs", "HistogramMerge");
  def.covers_window = true;
  return def;
}();

// Returns the buckets of all rows, such as "1: 7,0,2; 2: -".
std::string histogram_texts(const Snapshot& snapshot) {
  const Column *tids = snapshot.threads().find(kTid), *column = snapshot.threads().find("waits");
  std::string text;
  for (std::size_t row = 0; column && row < column->rows(); ++row) {
    text += (row ? "; " : "") + std::to_string(tids->u64()[row]) + ":";
    if (!column->has_value(row)) text += " -";
    for (const std::uint64_t count : snapshot.pools->words[column->ids()[row]])
      text += " " + std::to_string(count);
  }
  return column ? text : "no column";
}

BOOST_AUTO_TEST_CASE(joined_windows_add_histograms) {
  const std::vector<StartedThread> first{{1, 5}, {2, 5}}, second{{1, 5}};
  const auto made = [](const std::vector<StartedThread>& before,
                       const std::vector<StartedThread>& after, ExitedThreads ended,
                       std::uint64_t from, const Cells<Numbers>& cells) {
    auto window =
        make_window(snapshot_at(from, before), snapshot_at(from + 10, after), std::move(ended));
    BOOST_REQUIRE(window);
    add_numbers(*window, kWaits, cells);
    return std::move(*window);
  };
  WindowJoiner joiner(made(first, first, {}, 10, {Numbers{7}, Numbers{0, 2}}));
  joiner.add(
      made(first, second, exited_at(25, {{2, 5}}), 20, {Numbers{1, 0, 2}, Numbers{UINT64_MAX, 3}}));
  auto whole = std::move(joiner).join();
  BOOST_REQUIRE(whole);
  convert_to_differences(*whole);
  BOOST_TEST(histogram_texts(*whole) == "1: 8 0 2; 2: 18446744073709551615 5");
  BOOST_TEST(histogram_texts(closing_snapshot(std::move(*whole))) == "no column");
}

BOOST_AUTO_TEST_CASE(merged_rows_add_their_histograms) {
  ExitedThreads ended = exited_at(15, {{7, 1200}, {8, 1300}, {9, 1400}, {6, 5}});
  add_numbers(ended.rows, metric("waits", "HistogramNs", "HistogramMerge"),
              {{}, Numbers{1}, Numbers{2, 3}, Numbers{4}});
  merge_exited_threads(ended, 100, 3);
  BOOST_TEST(histogram_texts(ended.rows) == "7: 3 3; 6: 4");
}

BOOST_AUTO_TEST_CASE(numbers_of_a_window_have_no_lifetime) {
  const std::vector<StartedThread> both{{1, 5}, {2, 5}};
  const auto made = [&] {
    auto window = make_window(snapshot_at(10, both), snapshot_at(20, both), {});
    BOOST_REQUIRE(window);
    return with_numbers(std::move(*window), {7, 2});
  };
  for (const char* name : {"samples", "longest", "shortest"}) {
    BOOST_TEST(number_texts(closing_snapshot(made()), name) == "no column");
    BOOST_TEST(number_texts(opening_snapshot(made()), name) == "no column");
  }
  BOOST_TEST(opening_snapshot(made()).threads().rows == 2u);
}

BOOST_AUTO_TEST_CASE(merged_rows_merge_their_stacks) {
  ExitedThreads ended = exited_at(15, {{7, 1200}, {8, 1300}, {9, 1400}, {6, 5}});
  add_stacks(ended.rows, kStacks,
             {{}, {{{"main;work", 1}}}, {{{"main;work", 2}, {"main", 3}}}, {{{"other", 4}}}});
  merge_exited_threads(ended, 100, 3);
  BOOST_TEST(stack_texts(ended.rows) == "7: main 3, main;work 3; 6: other 4");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::window_stacks_test
