// Tests windows: which rows of two snapshots are the same, their opening values, and differences.

#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/support/test_windows.hpp"

namespace ctprof::window_test {
namespace {

using namespace hand_made;

BOOST_AUTO_TEST_SUITE(window_test)

BOOST_AUTO_TEST_CASE(a_counter_becomes_its_difference) {
  Snapshot before = snapshot_at(10, {{1, 5}, {2, 5}, {3, 5}});
  add_u64(before, kFaults, {100, 50, {}});
  Snapshot after = snapshot_at(20, {{1, 5}, {2, 5}, {3, 5}, {4, 1500}, {5, 6}});
  add_u64(after, kFaults, {160, 40, 9, 30, 70});
  const Snapshot window_snapshot = make_test_window(before, std::move(after));
  BOOST_TEST(read_value(window_snapshot, kFaults, 0) == 60u);
  BOOST_TEST(gap_name(window_snapshot, kFaults, 1) == "WentBackwards");
  BOOST_TEST(gap_name(window_snapshot, kFaults, 2) == "NoBase");
  BOOST_TEST(read_value(window_snapshot, kFaults, 3) == 30u);  // started inside
  // Existed before, but without an opening value.
  BOOST_TEST(gap_name(window_snapshot, kFaults, 4) == "NoBase");
}

BOOST_AUTO_TEST_CASE(a_reused_tid_is_another_thread) {
  Snapshot before = snapshot_at(10, {{1, 5}});
  add_u64(before, kFaults, {100});
  Snapshot after = snapshot_at(20, {{1, 1200}});
  add_u64(after, kFaults, {160});
  BOOST_TEST(read_value(make_test_window(before, std::move(after)), kFaults, 0) == 160u);
}

// Start times are in whole ticks, rounded down: the window opens at the start of tick 1000.
BOOST_AUTO_TEST_CASE(a_thread_that_started_in_the_tick_of_the_opening_counts_from_zero) {
  Snapshot before = snapshot_at(10, {{1, 5}});
  add_u64(before, kFaults, {100});
  Snapshot after = snapshot_at(20, {{1, 5}, {2, 1000}, {3, 999}});
  add_u64(after, kFaults, {160, 30, 70});
  const Snapshot window_snapshot = make_test_window(before, std::move(after));
  BOOST_TEST(read_value(window_snapshot, kFaults, 1) == 30u);
  BOOST_TEST(gap_name(window_snapshot, kFaults, 2) == "NoBase");
}

BOOST_AUTO_TEST_CASE(gauges_keep_their_value_and_have_an_opening_value) {
  Snapshot before = snapshot_at(10, {{1, 5}});
  add_u64(before, kHeap, {1000});
  add_u64(before, kPeak, {7});
  Snapshot after = snapshot_at(20, {{1, 5}});
  add_u64(after, kHeap, {400});
  add_u64(after, kPeak, {9});
  const Snapshot window_snapshot = make_test_window(before, std::move(after));
  BOOST_TEST(read_value(window_snapshot, kHeap, 0) == 400u);
  BOOST_TEST(read_value(window_snapshot, kPeak, 0) == 9u);
  const Opening& opening = window_snapshot.window->openings[0];
  BOOST_REQUIRE(opening.find("heap"));
  BOOST_TEST(opening.find("heap")->u64()[0] == 1000u);
  BOOST_TEST(!opening.find("wait_max"));
}

BOOST_AUTO_TEST_CASE(subtracts_maps_by_key) {
  MetricDef mixed = metric("stat", "MixedMap", "MapMixed", Entity::Host);
  mixed.map_keys = "gauge bytes: anon; counter count: pg*";
  const auto host = [&](std::uint64_t second, const MapValue& entries) {
    Snapshot snapshot = snapshot_at(second, {{1, 5}});
    snapshot.table(Entity::Host).rows = 1;
    add_map(snapshot, mixed, {entries});
    return snapshot;
  };
  const Snapshot window_snapshot =
      make_test_window(host(10, {{"anon", 70}, {"pgfault", 10}, {"pgfell", 5}}),
                       host(20, {{"anon", 50}, {"pgfault", 17}, {"pgfell", 4}, {"pgnew", 3}}));
  std::string text;
  for (const ctprof_entry& entry :
       window_snapshot.pools->maps[find_column(window_snapshot, mixed).ids()[0]])
    text += std::string(entry.key.data, entry.key.size) + "=" + std::to_string(entry.value) + " ";
  BOOST_TEST(text == "anon=50 pgfault=7 pgnew=3 ");
}

// A capture drops keys beyond the limit, so a key that a full opening lacks has an unknown base.
BOOST_AUTO_TEST_CASE(a_key_that_a_full_map_lacks_at_the_opening_has_no_difference) {
  const MetricDef counts = metric("counts", "CountMap", "MapSum", Entity::Host);
  const auto host = [&](std::uint64_t second, std::size_t keys, std::uint64_t value) {
    MapValue entries;
    for (std::size_t i = 0; i < keys; ++i)
      entries.emplace_back("k" + std::to_string(10'000 + i), value);
    Snapshot snapshot = snapshot_at(second, {{1, 5}});
    snapshot.table(Entity::Host).rows = 1;
    add_map(snapshot, counts, {entries});
    return snapshot;
  };
  const auto count_keys = [&](std::size_t keys) {
    const Snapshot window = make_test_window(host(10, keys, 7), host(20, keys + 1, 9));
    const auto entries = window.pools->maps[find_column(window, counts).ids()[0]];
    BOOST_TEST(entries[0].value == 2u);
    return entries.size();
  };
  BOOST_TEST(count_keys(CTPROF_MAX_MAP_KEYS - 1) == CTPROF_MAX_MAP_KEYS);
  BOOST_TEST(count_keys(CTPROF_MAX_MAP_KEYS) == CTPROF_MAX_MAP_KEYS);
}

// Elements that are left out at the end are zero.
BOOST_AUTO_TEST_CASE(subtracts_histograms_by_bucket) {
  const MetricDef waits = metric("waits", "HistogramNs", "HistogramMerge");
  Snapshot before = snapshot_at(10, {{1, 5}, {2, 5}, {3, 5}, {4, 5}});
  add_numbers(before, waits, {Numbers{1, 2}, Numbers{7, 3}, Numbers{0, 0, 4}, {}});
  Snapshot after = snapshot_at(20, {{1, 5}, {2, 5}, {3, 5}, {4, 5}, {5, 1500}});
  add_numbers(after, waits,
              {Numbers{1, 5, 9}, Numbers{6, 3}, Numbers{1}, Numbers{1}, Numbers{0, 8}});
  const Snapshot window = make_test_window(before, std::move(after));
  const auto buckets = [&](std::size_t row) {
    const auto found = window.pools->words[find_column(window, waits).ids()[row]];
    return Numbers(found.begin(), found.end());
  };
  BOOST_TEST(buckets(0) == (Numbers{0, 3, 9}), boost::test_tools::per_element());
  BOOST_TEST(gap_name(window, waits, 1) == "WentBackwards");
  BOOST_TEST(gap_name(window, waits, 2) == "WentBackwards");
  BOOST_TEST(gap_name(window, waits, 3) == "NoBase");
  BOOST_TEST(buckets(4) == (Numbers{0, 8}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(follows_an_exec_by_another_thread_than_the_leader) {
  Snapshot before = snapshot_at(10, {{40, 5}, {41, 600}}, 40);
  add_u64(before, kFaults, {1000, 10});
  Snapshot after = snapshot_at(20, {{40, 5}}, 40);
  add_u64(after, kFaults, {25});
  ExitedThreads ended = exited_at(15, {{40, 5}}, 40);
  add_u64(ended.rows, kFaults, {1003});
  ended.execs.push_back({40, 41, 600, 15 * kSecond + 1});
  const Snapshot window_snapshot = make_test_window(before, std::move(after), std::move(ended));
  BOOST_TEST(window_snapshot.threads().rows == 2u);
  BOOST_TEST(read_value(window_snapshot, kFaults, 0) == 15u);  // the former thread 41
  BOOST_TEST(read_value(window_snapshot, kFaults, 1) == 3u);   // the replaced leader
}

BOOST_AUTO_TEST_CASE(accepts_a_replaced_leader_with_the_id_of_its_successor) {
  Snapshot before = snapshot_at(10, {{40, 5}, {41, 600}}, 40);
  add_u64(before, kFaults, {1000, 10});
  Snapshot after = snapshot_at(20, {{40, 5}}, 40);
  add_u64(after, kFaults, {25});
  ExitedThreads ended = exited_at(15, {{41, 5}}, 40);
  add_u64(ended.rows, kFaults, {1003});
  ended.execs.push_back({40, 41, 0, 15 * kSecond + 1});  // start time unknown
  const Snapshot window_snapshot = make_test_window(before, std::move(after), std::move(ended));
  BOOST_TEST(window_snapshot.threads().rows == 2u);
  BOOST_TEST(read_value(window_snapshot, kFaults, 0) == 15u);
  BOOST_TEST(read_value(window_snapshot, kFaults, 1) == 3u);
}

// Process 40: a leader with little run time, and thread 41 that ran for 8 s.
Snapshot process_with_exec(std::uint64_t second, const std::vector<StartedThread>& threads,
                           const Cells<std::uint64_t>& run_seconds,
                           const Cells<std::uint64_t>& faults) {
  Snapshot snapshot = snapshot_at(second, threads, 40);
  Cells<std::uint64_t> run;
  for (const auto& seconds : run_seconds) run.push_back(*seconds * kSecond);
  add_u64(snapshot, kRun, run);
  add_u64(snapshot, with_role(metric("wait_time_ns", "MonotonicNs", "SumNs"), "wait-time"),
          Cells<std::uint64_t>(threads.size(), 0));
  add_text(snapshot, kState, Cells<std::string>(threads.size(), "S"));
  add_u64(snapshot, kFaults, faults);
  return snapshot;
}

ExitedThreads exits_at(std::uint64_t second, const std::vector<StartedThread>& threads,
                       const Cells<std::uint64_t>& run_seconds) {
  ExitedThreads ended;
  ended.rows =
      process_with_exec(second, threads, run_seconds, Cells<std::uint64_t>(threads.size(), 9));
  ended.exit_ns.assign(threads.size(), second * kSecond);
  ended.has_source = true;
  return ended;
}

// The source reports exits, but no exec. The leader exited, a thread with its id still exists, and
// 41 is missing.
BOOST_AUTO_TEST_CASE(infers_an_exec_from_the_exit_of_the_leader) {
  const Snapshot before = process_with_exec(10, {{40, 5}, {41, 600}}, {0, 8}, {5, 3});
  const Snapshot window_snapshot = make_test_window(
      before, process_with_exec(20, {{40, 5}}, {9}, {7}), exits_at(15, {{40, 5}}, {0}));
  BOOST_TEST(read_value(window_snapshot, kRun, 0) == kSecond);
  BOOST_TEST(read_value(window_snapshot, kFaults, 0) == 4u);
  BOOST_REQUIRE_EQUAL(window_snapshot.threads().rows, 2u);
  BOOST_TEST(read_value(window_snapshot, kRun, 1) == 0u);  // the replaced leader
}

BOOST_AUTO_TEST_CASE(a_thread_that_started_inside_and_took_over_counts_from_zero) {
  const Snapshot before = process_with_exec(10, {{40, 5}}, {1}, {5});
  const Snapshot window_snapshot = make_test_window(
      before, process_with_exec(20, {{40, 5}}, {3}, {7}), exits_at(15, {{40, 5}}, {1}));
  BOOST_TEST(read_value(window_snapshot, kRun, 0) == 3 * kSecond);
}

BOOST_AUTO_TEST_CASE(a_take_over_by_one_of_several_missing_threads_has_no_base) {
  const Snapshot before =
      process_with_exec(10, {{40, 5}, {41, 600}, {42, 600}}, {0, 8, 8}, {5, 3, 3});
  const Snapshot window_snapshot = make_test_window(
      before, process_with_exec(20, {{40, 5}}, {9}, {7}), exits_at(15, {{40, 5}}, {0}));
  BOOST_TEST(gap_name(window_snapshot, kRun, 0) == "NoBase");
}

// A leader may exit before the other threads of its process.
BOOST_AUTO_TEST_CASE(an_exited_leader_alone_is_not_replaced) {
  const Snapshot before = process_with_exec(10, {{40, 5}, {41, 600}}, {2, 8}, {5, 3});
  const Snapshot window_snapshot =
      make_test_window(before, process_with_exec(20, {{40, 5}, {41, 600}}, {3, 9}, {6, 7}),
                       exits_at(15, {{40, 5}}, {3}));
  BOOST_TEST(read_value(window_snapshot, kRun, 0) == kSecond);
  BOOST_TEST(read_value(window_snapshot, kRun, 1) == kSecond);
}

// An exited process is listed until it is reaped.
BOOST_AUTO_TEST_CASE(a_zombie_is_not_replaced) {
  const Snapshot before = process_with_exec(10, {{40, 5}}, {2}, {5});
  Snapshot after = process_with_exec(20, {{40, 5}}, {3}, {6});
  Column& states = *after.threads().find(kState.name);
  states.ids()[0] = after.pools->texts.intern("Z");
  const Snapshot window_snapshot =
      make_test_window(before, std::move(after), exits_at(15, {{40, 5}}, {3}));
  BOOST_TEST(read_value(window_snapshot, kRun, 0) == kSecond);
  BOOST_TEST(window_snapshot.threads().rows == 1u);
}

// The leader cannot have run for 9 s in 5 s, and its faults decreased.
BOOST_AUTO_TEST_CASE(two_snapshots_infer_an_exec_from_counters) {
  const Snapshot before = process_with_exec(10, {{40, 5}, {41, 100}}, {0, 8}, {50, 3});
  Snapshot after = process_with_exec(15, {{40, 5}}, {9}, {7});
  const Snapshot window_snapshot = make_test_window(before, std::move(after));
  BOOST_TEST(read_value(window_snapshot, kRun, 0) == kSecond);
  BOOST_TEST(read_value(window_snapshot, kFaults, 0) == 4u);
}

BOOST_AUTO_TEST_CASE(two_snapshots_have_no_base_if_an_exec_is_possible) {
  const Snapshot before = process_with_exec(10, {{40, 5}, {41, 600}}, {0, 3}, {5, 3});
  const Snapshot window_snapshot =
      make_test_window(before, process_with_exec(20, {{40, 5}}, {4}, {7}));
  BOOST_TEST(gap_name(window_snapshot, kRun, 0) == "NoBase");
  BOOST_TEST(gap_name(window_snapshot, kFaults, 0) == "NoBase");
}

BOOST_AUTO_TEST_CASE(an_idle_leader_keeps_its_base) {
  const Snapshot before = process_with_exec(10, {{40, 5}, {41, 600}}, {1, 3}, {5, 3});
  Snapshot after = process_with_exec(20, {{40, 5}}, {1}, {5});
  BOOST_TEST(read_value(make_test_window(before, std::move(after)), kRun, 0) == 0u);
}

// Thread 41 exited. Its run time was below that of the leader before, or above that of the leader
// at the end.
BOOST_AUTO_TEST_CASE(a_leader_keeps_its_base_if_an_exec_is_impossible) {
  const Snapshot less = process_with_exec(10, {{40, 5}, {41, 600}}, {3, 1}, {5, 3});
  BOOST_TEST(read_value(make_test_window(less, process_with_exec(20, {{40, 5}}, {4}, {7})), kRun,
                        0) == kSecond);
  const Snapshot more = process_with_exec(10, {{40, 5}, {41, 600}}, {3, 6}, {5, 3});
  BOOST_TEST(read_value(make_test_window(more, process_with_exec(20, {{40, 5}}, {4}, {7})), kRun,
                        0) == kSecond);
  const Snapshot three_threads =
      process_with_exec(10, {{40, 5}, {41, 600}, {42, 600}}, {0, 3, 1}, {5, 3, 3});
  BOOST_TEST(read_value(make_test_window(three_threads, process_with_exec(20, {{40, 5}, {42, 600}},
                                                                          {4, 1}, {7, 3})),
                        kRun, 0) == 4 * kSecond);
}

// No thread can run for 9 s in 5 s.
BOOST_AUTO_TEST_CASE(run_time_beyond_wall_time_has_no_base) {
  const Snapshot before = process_with_exec(10, {{40, 5}}, {0}, {5});
  BOOST_TEST(gap_name(make_test_window(before, process_with_exec(15, {{40, 5}}, {9}, {7})), kRun,
                      0) == "NoBase");
}

BOOST_AUTO_TEST_CASE(run_time_in_progress_counts_at_both_ends) {
  Snapshot before = snapshot_at(10, {{1, 5}, {2, 5}, {3, 5}, {4, 5}});
  add_u64(before, kRun, {100, 100, 100, 100});
  add_u64(before, kRunning, {30, 0, {}, {}});
  add_text(before, kState, {"R", "S", "S", "R"});
  Snapshot after = snapshot_at(20, {{1, 5}, {2, 5}, {3, 5}, {4, 5}});
  add_u64(after, kRun, {100, 150, 170, 180});
  add_u64(after, kRunning, {90, 5, {}, {}});
  add_text(after, kState, {"R", "R", "S", "S"});
  const Snapshot window_snapshot = make_test_window(before, std::move(after));
  // Ran throughout; its counter did not change.
  BOOST_TEST(read_value(window_snapshot, kRun, 0) == 60u);
  BOOST_TEST(read_value(window_snapshot, kRun, 1) == 55u);
  BOOST_TEST(read_value(window_snapshot, kRun, 2) == 70u);  // asleep at both ends
  BOOST_TEST(gap_name(window_snapshot, kRun, 3) == "NoBase");
}

BOOST_AUTO_TEST_CASE(user_and_system_time_keep_their_sum) {
  Snapshot before = snapshot_at(10, {{1, 5}, {2, 5}, {3, 5}});
  add_u64(before, kUser, {100, 100, 100});
  add_u64(before, kSystem, {50, 50, 50});
  Snapshot after = snapshot_at(20, {{1, 5}, {2, 5}, {3, 5}});
  add_u64(after, kUser, {97, 120, 90});
  add_u64(after, kSystem, {60, 49, 40});
  const Snapshot window_snapshot = make_test_window(before, std::move(after));
  BOOST_TEST(read_value(window_snapshot, kUser, 0) == 0u);
  BOOST_TEST(read_value(window_snapshot, kSystem, 0) == 7u);
  BOOST_TEST(read_value(window_snapshot, kUser, 1) == 19u);
  BOOST_TEST(read_value(window_snapshot, kSystem, 1) == 0u);
  BOOST_TEST(gap_name(window_snapshot, kUser, 2) == "WentBackwards");
}

BOOST_AUTO_TEST_CASE(a_recreated_cgroup_is_another_cgroup) {
  const auto host = [](std::uint64_t second, const Cells<std::string>& paths,
                       const Cells<std::uint64_t>& ids, const Cells<std::uint64_t>& used) {
    Snapshot snapshot = snapshot_at(second, {{1, 5}});
    snapshot.table(Entity::Cgroup).rows = paths.size();
    add_text(snapshot, identity_metric(kCgroupPath), paths);
    add_u64(snapshot, metric(std::string(kCgroupId), "IdU64", "Key", Entity::Cgroup), ids);
    add_u64(snapshot, metric("cpu", "MonotonicUs", "SumUs", Entity::Cgroup), used);
    return snapshot;
  };
  const MetricDef cpu = metric("cpu", "MonotonicUs", "SumUs", Entity::Cgroup);
  const Snapshot window_snapshot =
      make_test_window(host(10, {"/a", "/b"}, {11, 12}, {100, 200}),
                       host(20, {"/a", "/b", "/c"}, {11, 13, 14}, {101, 5, 6}));
  BOOST_TEST(read_value(window_snapshot, cpu, 0) == 1u);
  BOOST_TEST(read_value(window_snapshot, cpu, 1) == 5u);
  BOOST_TEST(read_value(window_snapshot, cpu, 2) == 6u);
  BOOST_TEST(window_snapshot.window->notes ==
                 std::vector<std::string>{"1 cgroup was removed while the window "
                                          "was open; its last values are "
                                          "unknown"},
             boost::test_tools::per_element());
}

// A snapshot without cgroup ids may not list all existing cgroups.
BOOST_AUTO_TEST_CASE(an_unlisted_cgroup_may_have_existed) {
  const MetricDef cpu = metric("cpu", "MonotonicUs", "SumUs", Entity::Cgroup);
  const auto host = [&](std::uint64_t second, const Cells<std::string>& paths,
                        const Cells<std::uint64_t>& ids) {
    Snapshot snapshot = snapshot_at(second, {{1, 5}});
    snapshot.table(Entity::Cgroup).rows = paths.size();
    add_text(snapshot, identity_metric(kCgroupPath), paths);
    add_u64(snapshot, identity_metric(kCgroupId), ids);
    add_u64(snapshot, cpu, Cells<std::uint64_t>(paths.size(), 7));
    return snapshot;
  };
  const Snapshot window_snapshot =
      make_test_window(host(10, {"/", "/gone"}, {{}, {}}), host(20, {"/", "/a"}, {1, 2}));
  BOOST_TEST(read_value(window_snapshot, cpu, 0) == 0u);
  BOOST_TEST(gap_name(window_snapshot, cpu, 1) == "NoBase");
  BOOST_TEST(window_snapshot.window->notes.empty());
}

BOOST_AUTO_TEST_CASE(refuses_snapshots_that_make_no_window) {
  Snapshot before = snapshot_at(10, {{1, 5}}), other = snapshot_at(20, {{1, 5}});
  other.meta.boot_id = "c";
  auto made = make_window(before, std::move(other), {}, "a.zst", "b.zst");
  BOOST_REQUIRE(!made);
  BOOST_TEST(made.error().text ==
             "making a window of 'a.zst..b.zst': they are of different boots; compare them with "
             "--lifetime");
  made = make_window(snapshot_at(20, {}), snapshot_at(10, {}), {}, "a.zst", "b.zst");
  BOOST_REQUIRE(!made);
  BOOST_TEST(made.error().text ==
             "making a window of 'a.zst..b.zst': the second was captured "
             "before the first: exchange them");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::window_test
