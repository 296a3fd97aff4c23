// Tests which threads are marked as descendants of the command of a window.

#include <array>
#include <boost/test/unit_test.hpp>
#include <utility>
#include <vector>

#include "core/window/descendants.hpp"
#include "tests/unit/support/test_windows.hpp"

namespace ctprof::descendants_test {
namespace {

using namespace hand_made;

// Returns a snapshot of processes with one thread each: tid, start in ticks, parent.
Snapshot processes_at(std::uint64_t second, const std::vector<std::array<std::uint64_t, 3>>& all) {
  std::vector<StartedThread> started;
  Cells<std::uint64_t> parents;
  for (const auto& [tid, start, parent] : all) {
    started.push_back({tid, start});
    parents.push_back(parent);
  }
  Snapshot snapshot = snapshot_at(second, started);
  add_u64(snapshot, identity_metric(kParent), parents);
  return snapshot;
}

std::vector<std::uint64_t> descendants(const Snapshot& snapshot) {
  std::vector<std::uint64_t> tids;
  const Column& marks = find_column(snapshot, identity_metric(kDescendant));
  for (std::size_t row = 0; row < snapshot.threads().rows; ++row)
    if (marks.has_value(row) && marks.bools()[row])
      tids.push_back(find_column(snapshot, identity_metric(kTid)).u64()[row]);
  return tids;
}

BOOST_AUTO_TEST_SUITE(descendants_test)

// Command 50 has a child 60 with a child 61. It also forked 70, which was reparented to process 1.
// Process 71 has the id of an exited descendant, but another start time.
BOOST_AUTO_TEST_CASE(marks_descendants_of_the_command) {
  const Snapshot before = processes_at(10, {{1, 1, 0}, {9, 5, 1}, {50, 900, 9}});
  Snapshot after = processes_at(20, {{1, 1, 0},
                                     {9, 5, 1},
                                     {50, 900, 9},
                                     {60, 1100, 50},
                                     {61, 1101, 60},
                                     {70, 1200, 1},
                                     {71, 1300, 1},
                                     {72, 1400, 9}});
  ExitedThreads ended;
  ended.forks = {{60, 1100}, {61, 1101}, {70, 1200}, {71, 1250}};
  mark_descendants(before, after, ended, {50});
  BOOST_TEST(descendants(after) == (std::vector<std::uint64_t>{50, 60, 61, 70}),
             boost::test_tools::per_element());
}

// Without fork events, orphans are reparented to us, process 9. Our own children are excluded if
// they existed before or started while the end was read.
BOOST_AUTO_TEST_CASE(marks_orphans_of_the_command) {
  const Snapshot before = processes_at(10, {{9, 5, 1}, {40, 800, 9}, {50, 900, 9}});
  Snapshot after = processes_at(
      20, {{9, 5, 1}, {40, 800, 9}, {50, 900, 9}, {70, 1200, 9}, {71, 1300, 70}, {80, 2000, 9}});
  mark_descendants(before, after, {}, {50, 9});
  BOOST_TEST(descendants(after) == (std::vector<std::uint64_t>{50, 70, 71}),
             boost::test_tools::per_element());
}

// Exited threads have the mark from the source that reported their exit.
BOOST_AUTO_TEST_CASE(keeps_marks_of_exited_threads) {
  const Snapshot before = processes_at(10, {{50, 900, 9}});
  Snapshot after = processes_at(20, {{50, 900, 9}});
  mark_descendants(before, after, {}, {50});
  ExitedThreads ended = exited_at(15, {{60, 1100}, {61, 1100}});
  add_bool(ended.rows, identity_metric(kDescendant), {true, false});
  const Snapshot window_snapshot = make_test_window(before, std::move(after), std::move(ended));
  BOOST_TEST(window_snapshot.threads().rows == 3u);
  BOOST_TEST(descendants(window_snapshot) == (std::vector<std::uint64_t>{50, 60}),
             boost::test_tools::per_element());
}

// Daemon 60 starts in the first window, and 61 while its end is read. 62 exits in the first window.
BOOST_AUTO_TEST_CASE(marks_descendants_in_consecutive_windows) {
  const Snapshot first = processes_at(10, {{50, 900, 9}});
  Snapshot boundary = processes_at(20, {{50, 900, 9}, {60, 1100, 1}, {70, 1100, 1}});
  ExitedThreads ended;
  ended.forks = {{60, 1100, 11 * kSecond}, {62, 1200, 12 * kSecond}, {61, 2000, 20 * kSecond + 1}};
  mark_descendants(first, boundary, ended, {50});
  auto first_window = make_consecutive_window(first, std::move(boundary), ended);
  BOOST_REQUIRE(first_window);
  BOOST_TEST(descendants(*first_window) == (std::vector<std::uint64_t>{50, 60}),
             boost::test_tools::per_element());
  BOOST_REQUIRE_EQUAL(ended.forks.size(), 1u);
  BOOST_TEST(ended.forks[0].tgid == 61u);

  const Snapshot middle = closing_snapshot(std::move(*first_window));
  Snapshot last = processes_at(30, {{60, 1100, 1}, {61, 2000, 1}, {63, 2500, 60}, {70, 1100, 1}});
  mark_descendants(middle, last, ended, {50});
  BOOST_TEST(descendants(last) == (std::vector<std::uint64_t>{60, 61, 63}),
             boost::test_tools::per_element());
}

// Without fork events, an orphan that was reparented to us in the first window stays a descendant.
BOOST_AUTO_TEST_CASE(marks_orphans_in_consecutive_windows) {
  const Snapshot first = processes_at(10, {{9, 5, 1}, {40, 800, 9}, {50, 900, 9}});
  Snapshot boundary = processes_at(20, {{9, 5, 1}, {40, 800, 9}, {50, 900, 9}, {70, 1200, 9}});
  mark_descendants(first, boundary, {}, {50, 9});
  Snapshot last = processes_at(30, {{9, 5, 1}, {40, 800, 9}, {70, 1200, 9}, {71, 2200, 9}});
  mark_descendants(boundary, last, {}, {50, 9});
  BOOST_TEST(descendants(last) == (std::vector<std::uint64_t>{70, 71}),
             boost::test_tools::per_element());
}

// The leader of daemon 60 has exited, and its other threads continue.
BOOST_AUTO_TEST_CASE(marks_a_process_whose_leader_exited) {
  const Snapshot before = processes_at(10, {{50, 900, 9}});
  Snapshot after = processes_at(20, {{50, 900, 9}, {60, 1100, 1}, {61, 1100, 1}});
  ExitedThreads ended = exited_at(15, {{60, 1100}, {61, 1100}});
  add_bool(ended.rows, identity_metric(kDescendant), {true, false});
  mark_descendants(before, after, ended, {50});
  BOOST_TEST(descendants(after) == (std::vector<std::uint64_t>{50, 60}),
             boost::test_tools::per_element());
}

// A lister reports a cycle of parents.
BOOST_AUTO_TEST_CASE(ends_a_cycle_of_parents) {
  const Snapshot before = processes_at(10, {{50, 900, 51}});
  Snapshot after = processes_at(20, {{50, 900, 51}, {51, 901, 50}, {52, 902, 52}});
  mark_descendants(before, after, {}, {50});
  BOOST_TEST(descendants(after) == (std::vector<std::uint64_t>{50, 51}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::descendants_test
