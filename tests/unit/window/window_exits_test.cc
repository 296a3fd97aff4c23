// Tests threads that exited inside a window: their rows, merging of many rows, and consecutive
// windows.

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/window/accounting.hpp"
#include "core/window/merge_exited_threads.hpp"
#include "tests/unit/support/test_windows.hpp"

namespace ctprof::window_exits_test {
namespace {

using namespace hand_made;

BOOST_AUTO_TEST_SUITE(window_exits_test)

BOOST_AUTO_TEST_CASE(exited_threads_follow_the_living) {
  Snapshot before = snapshot_at(10, {{1, 5}, {2, 5}});
  add_u64(before, kFaults, {100, 50});
  add_u64(before, kHeap, {1, 1});
  Snapshot after = snapshot_at(20, {{1, 5}, {9, 1100}});
  add_u64(after, kFaults, {160, 3});
  add_u64(after, kHeap, {1, 1});
  // Thread 2 exited, 7 started and exited, 9 exited after it was listed at the end.
  ExitedThreads ended = exited_at(15, {{7, 1200}, {9, 1100}, {2, 5}});
  add_u64(ended.rows, kFaults, {8, 4, 51});
  ended.lost = 3;
  const Snapshot window_snapshot = make_test_window(before, std::move(after), std::move(ended));
  BOOST_TEST(window_snapshot.threads().rows == 4u);
  BOOST_TEST(window_snapshot.window->living_threads == 2u);
  BOOST_TEST(window_snapshot.window->exited_lost == 3u);
  BOOST_TEST(window_snapshot.threads().find("tid")->u64()[2] == 2u);
  BOOST_TEST(read_value(window_snapshot, kFaults, 2) == 1u);
  BOOST_TEST(read_value(window_snapshot, kFaults, 3) == 8u);
  BOOST_TEST(gap_name(window_snapshot, kHeap, 3) == "NotApplicable");
  BOOST_TEST(window_snapshot.window->seen_times[0].first == 7u);
  BOOST_TEST(window_snapshot.window->seen_times[0].last == 10 * kSecond + 7);
  BOOST_TEST(window_snapshot.window->seen_times[3].first == 2 * kSecond);
  BOOST_TEST(window_snapshot.window->seen_times[3].last == 5 * kSecond);
}

// Run time is stored at the end of a slice. The slice that was running when the window opened began
// before it.
BOOST_AUTO_TEST_CASE(the_base_of_an_exited_thread_includes_the_time_in_progress) {
  Snapshot before = snapshot_at(10, {{1, 5}, {2, 5}});
  add_u64(before, kRun, {100, 50});
  add_u64(before, kRunning, {7, 20});
  Snapshot after = snapshot_at(20, {{1, 5}});
  add_u64(after, kRun, {160});
  add_u64(after, kRunning, {3});
  ExitedThreads ended = exited_at(15, {{2, 5}, {7, 1200}});
  add_u64(ended.rows, kRun, {90, 8});
  const Snapshot window_snapshot = make_test_window(before, std::move(after), std::move(ended));
  BOOST_TEST(read_value(window_snapshot, kRun, 0) == 56u);
  BOOST_TEST(read_value(window_snapshot, kRun, 1) == 20u);
  BOOST_TEST(read_value(window_snapshot, kRun, 2) == 8u);
}

BOOST_AUTO_TEST_CASE(ignores_threads_that_exited_before_the_window) {
  ExitedThreads ended = exited_at(9, {{7, 800}});
  add_u64(ended.rows, kFaults, {8});
  Snapshot before = snapshot_at(10, {{1, 5}}), after = snapshot_at(20, {{1, 5}});
  add_u64(before, kFaults, {1});
  add_u64(after, kFaults, {1});
  BOOST_TEST(make_test_window(before, std::move(after), std::move(ended)).threads().rows == 1u);
}

// The source reports only approximate start times and no process ids.
BOOST_AUTO_TEST_CASE(an_approximate_start_matches_a_listed_thread) {
  Snapshot before = snapshot_at(10, {{1, 5}, {2, 500}, {3, 500}, {6, 500}}, 1);
  add_u64(before, kFaults, {1, 100, 100, 100});
  add_text(before, identity_metric(kCgroup), {"/a", "/b", "/c", "/d"});
  Snapshot after = snapshot_at(20, {{1, 5}, {4, 1700}}, 1);
  add_u64(after, kFaults, {1, 7});
  add_text(after, identity_metric(kCgroup), {"/a", "/a"});
  // 3 has too late a start; 4 was listed at the end; 5 was never listed; 6 has an exact start time.
  ExitedThreads ended = exited_at(15, {{2, 502}, {3, 504}, {4, 1699}, {5, 1200}, {6, 501}}, 1);
  add_u64(ended.rows, kFaults, {150, 150, 9, 8, 150});
  add_u64(ended.rows, metric(std::string(kStartErrorTicks), "IdU64", "Key"), {3, 3, 3, 3, 0});
  add_text(ended.rows, identity_metric(kCgroup), {{}, {}, {}, {}, {}});
  Column& tgids = *ended.rows.threads().find(kTgid);
  Column& pcomms = *ended.rows.threads().find(kPcomm);
  tgids.gaps()[0] = CTPROF_UNSUPPORTED;
  tgids.u64()[0] = 0;
  tgids.gaps()[3] = CTPROF_UNSUPPORTED;
  for (ctprof_gap& gap : pcomms.gaps()) gap = CTPROF_THREAD_GONE;
  const Snapshot window_snapshot = make_test_window(before, std::move(after), std::move(ended));
  BOOST_TEST(window_snapshot.threads().rows == 6u);  // two living, four exited
  BOOST_TEST(read_value(window_snapshot, identity_metric(kTid), 2) == 2u);
  BOOST_TEST(read_value(window_snapshot, identity_metric(kTgid), 2) == 1u);
  BOOST_TEST(read_value(window_snapshot, identity_metric(kStartTime), 2) == 500u);
  BOOST_TEST(read_value(window_snapshot, kFaults, 2) == 50u);
  BOOST_TEST(window_snapshot.pools
                 ->texts[find_column(window_snapshot, identity_metric(kCgroup)).ids()[2]] == "/b");
  BOOST_TEST(gap_name(window_snapshot, kFaults, 3) == "NoBase");
  BOOST_TEST(window_snapshot.pools
                 ->texts[find_column(window_snapshot, identity_metric(kPcomm)).ids()[3]] == "p");
  BOOST_TEST(gap_name(window_snapshot, kFaults, 4) == "NoBase");
  BOOST_TEST(read_value(window_snapshot, kFaults, 5) == 8u);  // of an unknown process
  BOOST_TEST(read_value(window_snapshot, identity_metric(kTgid), 5) == 5u);
  BOOST_TEST(window_snapshot.pools
                 ->texts[find_column(window_snapshot, identity_metric(kPcomm)).ids()[5]] == "t");
}

// The source rounds: 5,000 bytes became 4,096 at the end, which looks like a decrease.
BOOST_AUTO_TEST_CASE(rounds_the_base_of_rounded_bytes) {
  const MetricDef read = metric("rchar", "Bytes", "SumBytes");
  Snapshot before = snapshot_at(10, {{1, 5}, {2, 5}}), after = snapshot_at(20, {{1, 5}});
  add_u64(before, read, {5000, 5000});
  add_u64(before, kFaults, {7, 7});
  add_u64(after, read, {6001, {}});
  add_u64(after, kFaults, {9, {}});
  ExitedThreads ended = exited_at(15, {{2, 5}});
  add_u64(ended.rows, read, {4096});
  add_u64(ended.rows, kFaults, {8});
  add_u64(ended.rows, metric(std::string(kByteRounding), "IdU64", "Key"), {1024});
  const Snapshot window_snapshot = make_test_window(before, std::move(after), std::move(ended));
  BOOST_TEST(read_value(window_snapshot, read, 0) == 1001u);
  BOOST_TEST(read_value(window_snapshot, read, 1) == 0u);
  BOOST_TEST(read_value(window_snapshot, kFaults, 1) == 1u);
}

// The source reports approximate start times and no cgroups. 1 and 3 are listed. 31 is a thread of
// 3; 40 is a child of 3, and 41 of 40; 50 is a child of process 1, and 60 of an unknown process.
BOOST_AUTO_TEST_CASE(an_unlisted_thread_has_the_cgroup_of_its_process_or_ancestor) {
  const auto host = [](std::uint64_t second) {
    Snapshot snapshot = snapshot_at(second, {{1, 5}, {3, 5}});
    add_text(snapshot, identity_metric(kCgroup), {"/init", "/unit"});
    return snapshot;
  };
  ExitedThreads ended = exited_at(15, {{31, 1200}, {40, 1200}, {41, 1200}, {50, 1200}, {60, 1200}});
  Table& threads = ended.rows.threads();
  threads.find(kTgid)->u64()[0] = 3;
  add_text(ended.rows, identity_metric(kCgroup), {{}, {}, {}, {}, {}});
  add_u64(ended.rows, identity_metric(kParent), {1, 3, 40, 1, 7});
  add_u64(ended.rows, metric(std::string(kStartErrorTicks), "IdU64", "Key"), {3, 3, 3, 3, 3});
  const Snapshot window_snapshot = make_test_window(host(10), host(20), std::move(ended));
  const Column& cgroups = find_column(window_snapshot, identity_metric(kCgroup));
  std::string text;
  for (std::uint32_t row = 2; row < window_snapshot.threads().rows; ++row)
    text += std::to_string(read_value(window_snapshot, identity_metric(kTid), row)) + ":" +
            (cgroups.has_value(row) ? std::string(window_snapshot.pools->texts[cgroups.ids()[row]])
                                    : "-") +
            " ";
  BOOST_TEST(text == "31:/unit 40:/unit 41:/unit 50:- 60:- ");
  BOOST_REQUIRE_EQUAL(window_snapshot.window->notes.size(), 1u);
  BOOST_TEST(window_snapshot.window->notes[0].starts_with(
      "2 threads that exited before they were listed"));
}

BOOST_AUTO_TEST_CASE(ignores_exited_threads_without_an_id) {
  Snapshot before = snapshot_at(10, {{1, 5}}), after = snapshot_at(20, {{1, 5}});
  add_u64(before, kFaults, {1});
  add_u64(after, kFaults, {1});
  ExitedThreads ended = exited_at(15, {{7, 1200}, {8, 1200}});
  ended.rows.threads().find(kTid)->gaps()[0] = CTPROF_UNSUPPORTED;
  BOOST_TEST(make_test_window(before, std::move(after), std::move(ended)).threads().rows == 2u);
}

// A thread of a process that started inside the window executes another program. The replaced
// leader is reported with the thread's former id.
BOOST_AUTO_TEST_CASE(a_replaced_leader_of_a_new_process_gets_its_id_back) {
  ExitedThreads ended = exited_at(15, {{40, 1200}, {41, 1200}}, 40);
  add_u64(ended.rows, kFaults, {25, 3});
  ended.execs.push_back({40, 41, 0, 14 * kSecond});
  const Snapshot window_snapshot =
      make_test_window(snapshot_at(10, {}), snapshot_at(20, {}), std::move(ended));
  BOOST_REQUIRE_EQUAL(window_snapshot.threads().rows, 2u);
  for (const std::uint64_t tid : window_snapshot.threads().find(kTid)->u64())
    BOOST_TEST(tid == 40u);
}

// Returns this many threads of two processes, with two names each; from thread 100 on they are new.
ExitedThreads make_exited_threads(std::uint64_t count) {
  std::vector<Thread> named;
  Cells<std::uint64_t> starts, faults, peaks, nices;
  for (std::uint64_t i = 0; i < count; ++i) {
    named.push_back({1 + i % 2, i + 1000, "p", i % 4 < 2 ? "a" : "b"});
    starts.push_back(i);
    faults.push_back(3);
    peaks.push_back(i);
    nices.push_back(i % 2);
  }
  ExitedThreads ended;
  ended.rows = snapshot_of(named);
  add_u64(ended.rows, identity_metric(kStartTime), starts);
  add_u64(ended.rows, kFaults, faults);
  add_u64(ended.rows, kPeak, peaks);
  add_u64(ended.rows, kHeap, nices);
  return ended;
}

const Column& ended_column(const ExitedThreads& ended, const std::string& name) {
  return *ended.rows.threads().find(name);
}

BOOST_AUTO_TEST_CASE(few_exited_threads_keep_their_rows) {
  ExitedThreads ended = make_exited_threads(500);
  merge_exited_threads(ended, 100, 500);
  BOOST_TEST(ended.rows.threads().rows == 500u);
  BOOST_TEST(ended.merged == 0u);
}

BOOST_AUTO_TEST_CASE(many_exited_threads_share_rows_if_they_are_equal) {
  ExitedThreads ended = make_exited_threads(500);
  merge_exited_threads(ended, 100, 300);
  BOOST_TEST(ended.rows.threads().rows == 104u);
  BOOST_TEST(ended.merged == 396u);
  BOOST_TEST(ended_column(ended, "minflt").u64()[99] == 3u);  // existed before, not merged
  BOOST_TEST(ended_column(ended, "minflt").u64()[100] == 300u);
  BOOST_TEST(ended_column(ended, "wait_max").u64()[100] == 496u);
  BOOST_TEST(ended_column(ended, "heap").u64()[101] == 1u);  // equal in all merged rows
  BOOST_TEST(ended_column(ended, "tid").u64()[100] == 1100u);
  BOOST_TEST(ended_column(ended, "threads").u64()[99] == 1u);
  BOOST_TEST(ended_column(ended, "threads").u64()[100] == 100u);
  merge_exited_threads(ended, 100, 103);  // merges first by name, then all rows
  BOOST_TEST(ended.rows.threads().rows == 101u);
  BOOST_TEST(ended.merged == 399u);
  BOOST_TEST(ended_column(ended, "minflt").u64()[100] == 1200u);
  BOOST_TEST(ended_column(ended, "threads").u64()[100] == 400u);
  BOOST_TEST(name(ended_column(ended, "heap").gap(100)) == "NotApplicable");
  BOOST_TEST(name(ended_column(ended, "comm").gap(100)) == "NotApplicable");
}

BOOST_AUTO_TEST_CASE(merges_descendants_only_with_descendants) {
  ExitedThreads ended = make_exited_threads(500);
  Cells<bool> marks;
  for (std::size_t row = 0; row < 500; ++row) marks.push_back(row >= 200);
  add_bool(ended.rows, identity_metric(kDescendant), marks);
  merge_exited_threads(ended, 100, 103);
  BOOST_TEST(ended.rows.threads().rows == 102u);
  BOOST_TEST(ended_column(ended, "minflt").u64()[100] == 300u);
  BOOST_TEST(ended_column(ended, "minflt").u64()[101] == 900u);
}

BOOST_AUTO_TEST_CASE(a_merged_row_has_a_thread_count) {
  ExitedThreads ended = exited_at(15, {{7, 1200}, {8, 1300}, {9, 1400}});
  for (const char* name : {"pcomm", "comm"}) {
    const Column& names = ended_column(ended, name);
    std::ranges::fill(const_cast<Column&>(names).ids(), names.ids()[0]);
  }
  merge_exited_threads(ended, 100, 2);
  BOOST_REQUIRE_EQUAL(ended.rows.threads().rows, 1u);
  ended.exit_ns.resize(1);
  Snapshot window_snapshot =
      make_test_window(snapshot_at(10, {{1, 5}}), snapshot_at(20, {{1, 5}}), std::move(ended));
  BOOST_TEST(threads_by_row(window_snapshot) == (std::vector<std::uint64_t>{1, 3}),
             boost::test_tools::per_element());
  const WindowRows rows = count_rows(window_snapshot);
  BOOST_TEST(rows.before == 1u);
  BOOST_TEST(rows.started == 3u);
  BOOST_TEST(rows.exited == 3u);
  BOOST_TEST(!closing_snapshot(std::move(window_snapshot)).threads().find(kThreads));
}

BOOST_AUTO_TEST_CASE(an_approximate_start_is_not_a_new_thread) {
  ExitedThreads ended = make_exited_threads(200);
  add_u64(ended.rows, metric(std::string(kStartErrorTicks), "IdU64", "Key"),
          Cells<std::uint64_t>(200, 50));
  merge_exited_threads(ended, 100, 100);
  BOOST_TEST(ended.rows.threads().rows == 151u);
}

BOOST_AUTO_TEST_CASE(a_short_lived_thread_counts_in_one_of_two_consecutive_windows) {
  const auto ended = [] {
    ExitedThreads ended = exited_at(15, {{7, 1200}, {8, 1990}});
    ended.exit_ns[1] = 20 * kSecond + 5;  // while the second snapshot was taken
    add_u64(ended.rows, kFaults, {8, 9});
    return ended;
  };
  const auto at = [](std::uint64_t second) {
    Snapshot snapshot = snapshot_at(second, {{1, 5}});
    add_u64(snapshot, kFaults, {1});
    return snapshot;
  };
  BOOST_TEST(make_test_window(at(10), at(20), ended()).threads().rows == 3u);
  BOOST_TEST(make_test_window(at(20), at(30), ended()).threads().rows == 1u);
}

// Thread 1 continues. 2 exited before the boundary, 3 after it was read. 4 is a zombie until later.
// 5 started after the boundary, and 6 exited before the first window.
BOOST_AUTO_TEST_CASE(each_of_two_consecutive_windows_has_its_own_exits) {
  Snapshot first = snapshot_at(10, {{1, 5}, {2, 5}, {3, 5}, {4, 5}});
  add_u64(first, kFaults, {1, 2, 3, 4});
  Snapshot boundary = snapshot_at(20, {{1, 5}, {3, 5}, {4, 5}});
  add_u64(boundary, kFaults, {10, 30, 40});
  ExitedThreads ended;
  ended.rows = snapshot_at(20, {{2, 5}, {3, 5}, {4, 5}, {5, 2050}, {6, 5}});
  add_u64(ended.rows, kFaults, {20, 33, 40, 7, 1});
  ended.exit_ns = {15 * kSecond, 20 * kSecond + 100, 12 * kSecond, 21 * kSecond, 9 * kSecond};
  ended.execs = {{1, 8, 0, 19 * kSecond}, {1, 9, 0, 21 * kSecond}};

  auto first_window = make_consecutive_window(first, std::move(boundary), ended);
  BOOST_REQUIRE(first_window);
  BOOST_TEST(ended.rows.threads().rows == 3u);
  BOOST_TEST((ended.exit_ns ==
              std::vector<std::uint64_t>{20 * kSecond + 100, 12 * kSecond, 21 * kSecond}));
  BOOST_REQUIRE_EQUAL(ended.execs.size(), 1u);
  BOOST_TEST(ended.execs[0].tid == 9u);

  const Snapshot middle = closing_snapshot(std::move(*first_window));
  BOOST_TEST(!middle.window);
  BOOST_TEST(middle.threads().rows == 3u);
  BOOST_TEST((middle.read_at == std::vector<std::uint64_t>{7, 7, 7}));
  ended.execs.clear();
  Snapshot last = snapshot_at(30, {{1, 5}});
  add_u64(last, kFaults, {11});
  const Snapshot window_snapshot = make_test_window(middle, std::move(last), std::move(ended));
  BOOST_REQUIRE_EQUAL(window_snapshot.threads().rows, 4u);
  BOOST_TEST(read_value(window_snapshot, kFaults, 0) == 1u);
  BOOST_TEST(read_value(window_snapshot, kFaults, 1) == 3u);
  BOOST_TEST(read_value(window_snapshot, kFaults, 2) == 0u);
  BOOST_TEST(read_value(window_snapshot, kFaults, 3) == 7u);
}

BOOST_AUTO_TEST_CASE(the_end_of_a_window_has_no_exited_threads) {
  const Snapshot before = snapshot_at(10, {{1, 5}, {2, 5}});
  Snapshot after = snapshot_at(20, {{1, 5}});
  after.started_at = {6};
  auto made = make_window(before, std::move(after), exited_at(15, {{2, 5}}));
  BOOST_REQUIRE(made);
  BOOST_TEST(made->threads().rows == 2u);
  const Snapshot end = closing_snapshot(std::move(*made));
  BOOST_TEST(end.threads().rows == 1u);
  BOOST_TEST(end.threads().find(kTid)->rows() == 1u);
  BOOST_TEST(end.started_at.size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::window_exits_test
