// Stacks in windows: what was recorded in one is neither subtracted nor lost, and windows back to
// back add theirs up.

#define BOOST_TEST_MODULE window_stacks
#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/window/laps.hpp"
#include "core/window/merge_ended.hpp"
#include "tests/unit/made_stacks.hpp"
#include "tests/unit/window_made.hpp"

namespace ctprof {
namespace {

using namespace hand_made;

// What a recorder hands over for the rows of a window, in their order.
Snapshot recorded(Snapshot window, const Cells<StackValue>& cells) {
  add_stacks(window, kStacks, cells);
  return window;
}

Snapshot lap(const Snapshot& before, Snapshot after, Ended ended, const Cells<StackValue>& cells) {
  auto made = make_window(before, std::move(after), std::move(ended));
  BOOST_REQUIRE(made);
  return recorded(std::move(*made), cells);
}

// "1: main 2; 7: ThreadGone"
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

BOOST_AUTO_TEST_CASE(what_was_recorded_in_a_window_has_no_base) {
  Snapshot window = lap(taken(10, {{1, 5}, {2, 5}}), taken(20, {{1, 5}}), ended_at(15, {{2, 5}}),
                        {{{{"main;work", 7}}}, {{{"main", 3}}}});
  to_differences(window);
  BOOST_TEST(told(window) == "1: main;work 7; 2: main 3");
  BOOST_TEST(told(begin_of(lap(taken(10, {{1, 5}}), taken(20, {{1, 5}}), {}, {{}}))) ==
             "no column");
  BOOST_TEST(told(end_of(std::move(window))) == "no column");
}

BOOST_AUTO_TEST_CASE(windows_back_to_back_add_up_stack_by_stack) {
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

// A recorder may have worked in some of them, and a thread may be gone without a word.
BOOST_AUTO_TEST_CASE(what_is_in_no_row_any_more_is_told) {
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

BOOST_AUTO_TEST_CASE(threads_that_share_a_row_share_their_stacks) {
  Ended ended = ended_at(15, {{7, 1200}, {8, 1300}, {9, 1400}, {6, 5}});
  add_stacks(ended.rows, kStacks,
             {{}, {{{"main;work", 1}}}, {{{"main;work", 2}, {"main", 3}}}, {{{"other", 4}}}});
  merge_ended(ended, 100, 3);
  BOOST_TEST(told(ended.rows) == "7: main 3, main;work 3; 6: other 4");
}

}  // namespace
}  // namespace ctprof
