// Windows: which rows of two snapshots are one, what they were, and what happened.

#define BOOST_TEST_MODULE window
#include "core/window/make_window.hpp"

#include <array>
#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>

#include "core/window/descendants.hpp"
#include "core/window/happened.hpp"
#include "core/window/merge_ended.hpp"
#include "tests/unit/hand_made.hpp"

namespace ctprof {
namespace {

using namespace hand_made;

constexpr std::uint64_t kSecond = 1'000'000'000;

MetricDef with_role(MetricDef def, std::string role) {
  def.role = std::move(role);
  return def;
}

const MetricDef kRun = with_role(metric("run_time_ns", "MonotonicNs", "SumNs"), "run-time"),
                kRunning = with_role(metric("running_ns", "GaugeNs", "MaxGaugeNs"),
                                     "run-time-in-progress"),
                kUser = with_role(metric("utime", "ClockTicks", "SumTicks"), "user-time"),
                kSystem = with_role(metric("stime", "ClockTicks", "SumTicks"), "system-time"),
                kState = with_role(metric("state", "Char", "ModeChar"), "state"),
                kFaults = metric("minflt", "MonotonicCount", "SumCount"),
                kPeak = metric("wait_max", "PeakNs", "MaxPeak"),
                kHeap = metric("heap", "GaugeBytes", "SumGaugeBytes");

// One thread a row: tid, start in ticks.
struct Born {
  std::uint64_t tid, start;
};

Snapshot taken(std::uint64_t second, const std::vector<Born>& threads, std::uint64_t tgid = 0) {
  std::vector<Thread> named;
  Cells<std::uint64_t> starts;
  for (const Born& thread : threads) {
    named.push_back({tgid ? tgid : thread.tid, thread.tid, "p", "t"});
    starts.push_back(thread.start);
  }
  Snapshot snapshot = snapshot_of(named);
  add_u64(snapshot, identity_metric(kStartTime), starts);
  snapshot.meta.boot_id = "b";
  snapshot.meta.start.boottime_ns = second * kSecond;
  snapshot.read_at.assign(threads.size(), 7);
  return snapshot;
}

Ended ended_at(std::uint64_t second, const std::vector<Born>& threads, std::uint64_t tgid = 0) {
  Ended ended;
  ended.rows = taken(second, threads, tgid);
  ended.at_ns.assign(threads.size(), second * kSecond);
  ended.told = true;
  return ended;
}

Snapshot window(const Snapshot& before, Snapshot after, Ended ended = {}) {
  auto made = make_window(before, std::move(after), std::move(ended));
  BOOST_REQUIRE(made);
  to_differences(*made);
  return std::move(*made);
}

const Column& column(const Snapshot& snapshot, const MetricDef& def) {
  const Column* found = snapshot.table(def.entity).find(def.name);
  BOOST_REQUIRE(found);
  return *found;
}

std::uint64_t value(const Snapshot& snapshot, const MetricDef& def, std::size_t row) {
  const Column& found = column(snapshot, def);
  BOOST_REQUIRE_EQUAL(name(found.gap(row)), "None");
  return found.u64()[row];
}

std::string gap(const Snapshot& snapshot, const MetricDef& def, std::size_t row) {
  return std::string(name(column(snapshot, def).gap(row)));
}

BOOST_AUTO_TEST_CASE(a_counter_becomes_what_it_counted) {
  Snapshot before = taken(10, {{1, 5}, {2, 5}, {3, 5}});
  add_u64(before, kFaults, {100, 50, {}});
  Snapshot after = taken(20, {{1, 5}, {2, 5}, {3, 5}, {4, 1500}, {5, 6}});
  add_u64(after, kFaults, {160, 40, 9, 30, 70});
  const Snapshot told = window(before, std::move(after));
  BOOST_TEST(value(told, kFaults, 0) == 60u);
  BOOST_TEST(gap(told, kFaults, 1) == "WentBackwards");
  BOOST_TEST(gap(told, kFaults, 2) == "NoBase");
  BOOST_TEST(value(told, kFaults, 3) == 30u);     // born inside
  BOOST_TEST(gap(told, kFaults, 4) == "NoBase");  // old, and was not there before
}

BOOST_AUTO_TEST_CASE(a_tid_that_is_used_again_is_another_thread) {
  Snapshot before = taken(10, {{1, 5}});
  add_u64(before, kFaults, {100});
  Snapshot after = taken(20, {{1, 1200}});
  add_u64(after, kFaults, {160});
  BOOST_TEST(value(window(before, std::move(after)), kFaults, 0) == 160u);
}

BOOST_AUTO_TEST_CASE(gauges_and_peaks_stay_and_remember_what_they_were) {
  Snapshot before = taken(10, {{1, 5}});
  add_u64(before, kHeap, {1000});
  add_u64(before, kPeak, {7});
  Snapshot after = taken(20, {{1, 5}});
  add_u64(after, kHeap, {400});
  add_u64(after, kPeak, {9});
  const Snapshot told = window(before, std::move(after));
  BOOST_TEST(value(told, kHeap, 0) == 400u);
  BOOST_TEST(value(told, kPeak, 0) == 9u);
  const Opening& opening = told.window->openings[0];
  BOOST_REQUIRE(opening.find("heap"));
  BOOST_TEST(opening.find("heap")->u64()[0] == 1000u);
  BOOST_TEST(!opening.find("wait_max"));
}

BOOST_AUTO_TEST_CASE(maps_are_subtracted_by_key) {
  MetricDef mixed = metric("stat", "MixedMap", "MapMixed", Entity::Host);
  mixed.map_keys = "gauge bytes: anon; counter count: pg*";
  const auto host = [&](std::uint64_t second, const MapValue& entries) {
    Snapshot snapshot = taken(second, {{1, 5}});
    snapshot.table(Entity::Host).rows = 1;
    add_map(snapshot, mixed, {entries});
    return snapshot;
  };
  const Snapshot told =
      window(host(10, {{"anon", 70}, {"pgfault", 10}, {"pgfell", 5}}),
             host(20, {{"anon", 50}, {"pgfault", 17}, {"pgfell", 4}, {"pgnew", 3}}));
  std::string text;
  for (const ctprof_entry& entry : told.pools->maps[column(told, mixed).ids()[0]])
    text += std::string(entry.key.data, entry.key.size) + "=" + std::to_string(entry.value) + " ";
  BOOST_TEST(text == "anon=50 pgfault=7 pgnew=3 ");
}

BOOST_AUTO_TEST_CASE(threads_that_ended_are_rows_behind_the_living) {
  Snapshot before = taken(10, {{1, 5}, {2, 5}});
  add_u64(before, kFaults, {100, 50});
  add_u64(before, kHeap, {1, 1});
  Snapshot after = taken(20, {{1, 5}, {9, 1100}});
  add_u64(after, kFaults, {160, 3});
  add_u64(after, kHeap, {1, 1});
  // Thread 2 ended, 7 was born and ended, 9 ended after it had been met.
  Ended ended = ended_at(15, {{7, 1200}, {9, 1100}, {2, 5}});
  add_u64(ended.rows, kFaults, {8, 4, 51});
  ended.lost = 3;
  const Snapshot told = window(before, std::move(after), std::move(ended));
  BOOST_TEST(told.threads().rows == 4u);
  BOOST_TEST(told.window->living == 2u);
  BOOST_TEST(told.window->ended_lost == 3u);
  BOOST_TEST(told.threads().find("tid")->u64()[2] == 2u);
  BOOST_TEST(value(told, kFaults, 2) == 1u);
  BOOST_TEST(value(told, kFaults, 3) == 8u);
  BOOST_TEST(gap(told, kHeap, 3) == "NotApplicable");
  BOOST_TEST(told.window->seen[0].first == 7u);
  BOOST_TEST(told.window->seen[0].last == 10 * kSecond + 7);
  BOOST_TEST(told.window->seen[3].first == 2 * kSecond);
  BOOST_TEST(told.window->seen[3].last == 5 * kSecond);
}

BOOST_AUTO_TEST_CASE(who_ended_before_the_window_does_not_count) {
  Ended ended = ended_at(9, {{7, 800}});
  add_u64(ended.rows, kFaults, {8});
  Snapshot before = taken(10, {{1, 5}}), after = taken(20, {{1, 5}});
  add_u64(before, kFaults, {1});
  add_u64(after, kFaults, {1});
  BOOST_TEST(window(before, std::move(after), std::move(ended)).threads().rows == 1u);
}

BOOST_AUTO_TEST_CASE(an_exec_by_a_thread_that_is_no_leader_is_one_thread) {
  Snapshot before = taken(10, {{40, 5}, {41, 600}}, 40);
  add_u64(before, kFaults, {1000, 10});
  Snapshot after = taken(20, {{40, 5}}, 40);
  add_u64(after, kFaults, {25});
  Ended ended = ended_at(15, {{40, 5}}, 40);
  add_u64(ended.rows, kFaults, {1003});
  ended.took_over.push_back({40, 41, 600, 15 * kSecond + 1});
  const Snapshot told = window(before, std::move(after), std::move(ended));
  BOOST_TEST(told.threads().rows == 2u);
  BOOST_TEST(value(told, kFaults, 0) == 15u);  // what was 41
  BOOST_TEST(value(told, kFaults, 1) == 3u);   // the old leader
}

BOOST_AUTO_TEST_CASE(an_old_leader_may_have_got_the_id_of_who_replaced_it) {
  Snapshot before = taken(10, {{40, 5}, {41, 600}}, 40);
  add_u64(before, kFaults, {1000, 10});
  Snapshot after = taken(20, {{40, 5}}, 40);
  add_u64(after, kFaults, {25});
  Ended ended = ended_at(15, {{41, 5}}, 40);
  add_u64(ended.rows, kFaults, {1003});
  ended.took_over.push_back({40, 41, 0, 15 * kSecond + 1});  // its own start is not known
  const Snapshot told = window(before, std::move(after), std::move(ended));
  BOOST_TEST(told.threads().rows == 2u);
  BOOST_TEST(value(told, kFaults, 0) == 15u);
  BOOST_TEST(value(told, kFaults, 1) == 3u);
}

// A source that knows starts only roughly, and no process.
BOOST_AUTO_TEST_CASE(a_rough_start_is_that_of_the_thread_that_was_listed) {
  Snapshot before = taken(10, {{1, 5}, {2, 500}, {3, 500}, {6, 500}}, 1);
  add_u64(before, kFaults, {1, 100, 100, 100});
  add_text(before, identity_metric(kCgroup), {"/a", "/b", "/c", "/d"});
  Snapshot after = taken(20, {{1, 5}, {4, 1700}}, 1);
  add_u64(after, kFaults, {1, 7});
  add_text(after, identity_metric(kCgroup), {"/a", "/a"});
  // 3 began too long after; 4 was met at the end; 5 was never met; 6 says that it knows exactly.
  Ended ended = ended_at(15, {{2, 502}, {3, 504}, {4, 1699}, {5, 1200}, {6, 501}}, 1);
  add_u64(ended.rows, kFaults, {150, 150, 9, 8, 150});
  add_u64(ended.rows, metric(std::string(kStartWithin), "IdU64", "Key"), {3, 3, 3, 3, 0});
  add_text(ended.rows, identity_metric(kCgroup), {{}, {}, {}, {}, {}});
  Column& tgids = *ended.rows.threads().find(kTgid);
  Column& pcomms = *ended.rows.threads().find(kPcomm);
  tgids.gaps()[0] = CTPROF_UNSUPPORTED;
  tgids.u64()[0] = 0;
  tgids.gaps()[3] = CTPROF_UNSUPPORTED;
  for (ctprof_gap& gap : pcomms.gaps()) gap = CTPROF_THREAD_GONE;
  const Snapshot told = window(before, std::move(after), std::move(ended));
  BOOST_TEST(told.threads().rows == 6u);  // two live, four ended
  BOOST_TEST(value(told, identity_metric(kTid), 2) == 2u);
  BOOST_TEST(value(told, identity_metric(kTgid), 2) == 1u);
  BOOST_TEST(value(told, identity_metric(kStartTime), 2) == 500u);
  BOOST_TEST(value(told, kFaults, 2) == 50u);
  BOOST_TEST(told.pools->texts[column(told, identity_metric(kCgroup)).ids()[2]] == "/b");
  BOOST_TEST(gap(told, kFaults, 3) == "NoBase");
  BOOST_TEST(told.pools->texts[column(told, identity_metric(kPcomm)).ids()[3]] == "p");
  BOOST_TEST(gap(told, kFaults, 4) == "NoBase");
  BOOST_TEST(value(told, kFaults, 5) == 8u);  // of a process that nobody knows
  BOOST_TEST(value(told, identity_metric(kTgid), 5) == 5u);
  BOOST_TEST(told.pools->texts[column(told, identity_metric(kPcomm)).ids()[5]] == "t");
}

BOOST_AUTO_TEST_CASE(who_ended_without_an_id_is_no_row) {
  Snapshot before = taken(10, {{1, 5}}), after = taken(20, {{1, 5}});
  add_u64(before, kFaults, {1});
  add_u64(after, kFaults, {1});
  Ended ended = ended_at(15, {{7, 1200}, {8, 1200}});
  ended.rows.threads().find(kTid)->gaps()[0] = CTPROF_UNSUPPORTED;
  BOOST_TEST(window(before, std::move(after), std::move(ended)).threads().rows == 2u);
}

// So many threads of two processes, with two names each; from thread 100 on they are new.
Ended many(std::uint64_t count) {
  std::vector<Thread> named;
  Cells<std::uint64_t> starts, faults, peaks, nices;
  for (std::uint64_t i = 0; i < count; ++i) {
    named.push_back({1 + i % 2, i + 1000, "p", i % 4 < 2 ? "a" : "b"});
    starts.push_back(i);
    faults.push_back(3);
    peaks.push_back(i);
    nices.push_back(i % 2);
  }
  Ended ended;
  ended.rows = snapshot_of(named);
  add_u64(ended.rows, identity_metric(kStartTime), starts);
  add_u64(ended.rows, kFaults, faults);
  add_u64(ended.rows, kPeak, peaks);
  add_u64(ended.rows, kHeap, nices);
  return ended;
}

const Column& ended_column(const Ended& ended, const std::string& name) {
  return *ended.rows.threads().find(name);
}

BOOST_AUTO_TEST_CASE(few_that_ended_keep_their_rows) {
  Ended ended = many(500);
  merge_ended(ended, 100, 500);
  BOOST_TEST(ended.rows.threads().rows == 500u);
  BOOST_TEST(ended.merged == 0u);
}

BOOST_AUTO_TEST_CASE(many_that_ended_share_rows_if_they_are_alike) {
  Ended ended = many(500);
  merge_ended(ended, 100, 300);
  BOOST_TEST(ended.rows.threads().rows == 104u);
  BOOST_TEST(ended.merged == 396u);
  BOOST_TEST(ended_column(ended, "minflt").u64()[99] == 3u);  // began before, so is alone
  BOOST_TEST(ended_column(ended, "minflt").u64()[100] == 300u);
  BOOST_TEST(ended_column(ended, "wait_max").u64()[100] == 496u);
  BOOST_TEST(ended_column(ended, "heap").u64()[101] == 1u);  // alike in all of them
  BOOST_TEST(ended_column(ended, "tid").u64()[100] == 1100u);
  merge_ended(ended, 100, 103);  // nothing else is alike: one name, then everything
  BOOST_TEST(ended.rows.threads().rows == 101u);
  BOOST_TEST(ended.merged == 399u);
  BOOST_TEST(ended_column(ended, "minflt").u64()[100] == 1200u);
  BOOST_TEST(name(ended_column(ended, "heap").gap(100)) == "NotApplicable");
  BOOST_TEST(name(ended_column(ended, "comm").gap(100)) == "NotApplicable");
}

BOOST_AUTO_TEST_CASE(descendants_share_rows_with_descendants_alone) {
  Ended ended = many(500);
  Cells<bool> marks;
  for (std::size_t row = 0; row < 500; ++row) marks.push_back(row >= 200);
  add_bool(ended.rows, identity_metric(kDescendant), marks);
  merge_ended(ended, 100, 103);
  BOOST_TEST(ended.rows.threads().rows == 102u);
  BOOST_TEST(ended_column(ended, "minflt").u64()[100] == 300u);
  BOOST_TEST(ended_column(ended, "minflt").u64()[101] == 900u);
}

BOOST_AUTO_TEST_CASE(a_start_that_is_not_known_well_is_no_new_thread) {
  Ended ended = many(200);
  add_u64(ended.rows, metric(std::string(kStartWithin), "IdU64", "Key"),
          Cells<std::uint64_t>(200, 50));
  merge_ended(ended, 100, 100);
  BOOST_TEST(ended.rows.threads().rows == 151u);
}

BOOST_AUTO_TEST_CASE(who_was_born_and_ended_counts_once_in_windows_back_to_back) {
  const auto ended = [] {
    Ended ended = ended_at(15, {{7, 1200}, {8, 1990}});
    ended.at_ns[1] = 20 * kSecond + 5;  // while the second snapshot was being taken
    add_u64(ended.rows, kFaults, {8, 9});
    return ended;
  };
  const auto at = [](std::uint64_t second) {
    Snapshot snapshot = taken(second, {{1, 5}});
    add_u64(snapshot, kFaults, {1});
    return snapshot;
  };
  BOOST_TEST(window(at(10), at(20), ended()).threads().rows == 3u);
  BOOST_TEST(window(at(20), at(30), ended()).threads().rows == 1u);
}

BOOST_AUTO_TEST_CASE(what_is_in_progress_counts_at_both_ends) {
  Snapshot before = taken(10, {{1, 5}, {2, 5}, {3, 5}, {4, 5}});
  add_u64(before, kRun, {100, 100, 100, 100});
  add_u64(before, kRunning, {30, 0, {}, {}});
  add_text(before, kState, {"R", "S", "S", "R"});
  Snapshot after = taken(20, {{1, 5}, {2, 5}, {3, 5}, {4, 5}});
  add_u64(after, kRun, {100, 150, 170, 180});
  add_u64(after, kRunning, {90, 5, {}, {}});
  add_text(after, kState, {"R", "R", "S", "S"});
  const Snapshot told = window(before, std::move(after));
  BOOST_TEST(value(told, kRun, 0) == 60u);  // ran throughout, and its counter never moved
  BOOST_TEST(value(told, kRun, 1) == 55u);
  BOOST_TEST(value(told, kRun, 2) == 70u);  // asleep at both ends
  BOOST_TEST(gap(told, kRun, 3) == "NoBase");
}

BOOST_AUTO_TEST_CASE(user_and_system_time_keep_their_sum) {
  Snapshot before = taken(10, {{1, 5}, {2, 5}, {3, 5}});
  add_u64(before, kUser, {100, 100, 100});
  add_u64(before, kSystem, {50, 50, 50});
  Snapshot after = taken(20, {{1, 5}, {2, 5}, {3, 5}});
  add_u64(after, kUser, {97, 120, 90});
  add_u64(after, kSystem, {60, 49, 40});
  const Snapshot told = window(before, std::move(after));
  BOOST_TEST(value(told, kUser, 0) == 0u);
  BOOST_TEST(value(told, kSystem, 0) == 7u);
  BOOST_TEST(value(told, kUser, 1) == 19u);
  BOOST_TEST(value(told, kSystem, 1) == 0u);
  BOOST_TEST(gap(told, kUser, 2) == "WentBackwards");
}

BOOST_AUTO_TEST_CASE(a_cgroup_that_was_made_again_is_another_one) {
  const auto host = [](std::uint64_t second, const Cells<std::string>& paths,
                       const Cells<std::uint64_t>& ids, const Cells<std::uint64_t>& used) {
    Snapshot snapshot = taken(second, {{1, 5}});
    snapshot.table(Entity::Cgroup).rows = paths.size();
    add_text(snapshot, identity_metric(kCgroupPath), paths);
    add_u64(snapshot, metric(std::string(kCgroupId), "IdU64", "Key", Entity::Cgroup), ids);
    add_u64(snapshot, metric("cpu", "MonotonicUs", "SumUs", Entity::Cgroup), used);
    return snapshot;
  };
  const MetricDef cpu = metric("cpu", "MonotonicUs", "SumUs", Entity::Cgroup);
  const Snapshot told = window(host(10, {"/a", "/b"}, {11, 12}, {100, 200}),
                               host(20, {"/a", "/b", "/c"}, {11, 13, 14}, {101, 5, 6}));
  BOOST_TEST(value(told, cpu, 0) == 1u);
  BOOST_TEST(value(told, cpu, 1) == 5u);
  BOOST_TEST(value(told, cpu, 2) == 6u);
  BOOST_TEST(told.window->notes == std::vector<std::string>{"1 cgroup was removed while the window "
                                                            "was open; its last figures are not "
                                                            "known"},
             boost::test_tools::per_element());
}

// One that has no ids may have had more cgroups than it lists.
BOOST_AUTO_TEST_CASE(a_cgroup_that_was_not_listed_may_have_been_there) {
  const MetricDef cpu = metric("cpu", "MonotonicUs", "SumUs", Entity::Cgroup);
  const auto host = [&](std::uint64_t second, const Cells<std::string>& paths,
                        const Cells<std::uint64_t>& ids) {
    Snapshot snapshot = taken(second, {{1, 5}});
    snapshot.table(Entity::Cgroup).rows = paths.size();
    add_text(snapshot, identity_metric(kCgroupPath), paths);
    add_u64(snapshot, identity_metric(kCgroupId), ids);
    add_u64(snapshot, cpu, Cells<std::uint64_t>(paths.size(), 7));
    return snapshot;
  };
  const Snapshot told = window(host(10, {"/", "/gone"}, {{}, {}}), host(20, {"/", "/a"}, {1, 2}));
  BOOST_TEST(value(told, cpu, 0) == 0u);
  BOOST_TEST(gap(told, cpu, 1) == "NoBase");
  BOOST_TEST(told.window->notes.empty());
}

// Thread 1 lives on; 2 ended before the boundary, 3 after it was read, 4 is a zombie until later, 5
// was born after the boundary, and 6 ended before all of this.
BOOST_AUTO_TEST_CASE(of_windows_back_to_back_each_has_its_own_ends) {
  Snapshot first = taken(10, {{1, 5}, {2, 5}, {3, 5}, {4, 5}});
  add_u64(first, kFaults, {1, 2, 3, 4});
  Snapshot boundary = taken(20, {{1, 5}, {3, 5}, {4, 5}});
  add_u64(boundary, kFaults, {10, 30, 40});
  Ended ended;
  ended.rows = taken(20, {{2, 5}, {3, 5}, {4, 5}, {5, 2050}, {6, 5}});
  add_u64(ended.rows, kFaults, {20, 33, 40, 7, 1});
  ended.at_ns = {15 * kSecond, 20 * kSecond + 100, 12 * kSecond, 21 * kSecond, 9 * kSecond};
  ended.took_over = {{1, 8, 0, 19 * kSecond}, {1, 9, 0, 21 * kSecond}};

  auto lap = make_lap(first, std::move(boundary), ended);
  BOOST_REQUIRE(lap);
  BOOST_TEST(ended.rows.threads().rows == 3u);
  BOOST_TEST(
      (ended.at_ns == std::vector<std::uint64_t>{20 * kSecond + 100, 12 * kSecond, 21 * kSecond}));
  BOOST_REQUIRE_EQUAL(ended.took_over.size(), 1u);
  BOOST_TEST(ended.took_over[0].tid == 9u);

  const Snapshot middle = end_of(std::move(*lap));
  BOOST_TEST(!middle.window);
  BOOST_TEST(middle.threads().rows == 3u);
  BOOST_TEST((middle.read_at == std::vector<std::uint64_t>{7, 7, 7}));
  ended.took_over.clear();
  Snapshot last = taken(30, {{1, 5}});
  add_u64(last, kFaults, {11});
  const Snapshot told = window(middle, std::move(last), std::move(ended));
  BOOST_REQUIRE_EQUAL(told.threads().rows, 4u);
  BOOST_TEST(value(told, kFaults, 0) == 1u);
  BOOST_TEST(value(told, kFaults, 1) == 3u);
  BOOST_TEST(value(told, kFaults, 2) == 0u);
  BOOST_TEST(value(told, kFaults, 3) == 7u);
}

BOOST_AUTO_TEST_CASE(the_end_of_a_window_has_no_ended_threads) {
  const Snapshot before = taken(10, {{1, 5}, {2, 5}});
  Snapshot after = taken(20, {{1, 5}});
  after.born_at = {6};
  auto made = make_window(before, std::move(after), ended_at(15, {{2, 5}}));
  BOOST_REQUIRE(made);
  BOOST_TEST(made->threads().rows == 2u);
  const Snapshot end = end_of(std::move(*made));
  BOOST_TEST(end.threads().rows == 1u);
  BOOST_TEST(end.threads().find(kTid)->rows() == 1u);
  BOOST_TEST(end.born_at.size() == 1u);
}

// Processes of one thread: tid, start in ticks, parent.
Snapshot family_at(std::uint64_t second, const std::vector<std::array<std::uint64_t, 3>>& all) {
  std::vector<Born> born;
  Cells<std::uint64_t> parents;
  for (const auto& [tid, start, parent] : all) {
    born.push_back({tid, start});
    parents.push_back(parent);
  }
  Snapshot snapshot = taken(second, born);
  add_u64(snapshot, identity_metric(kParent), parents);
  return snapshot;
}

std::vector<std::uint64_t> descendants(const Snapshot& snapshot) {
  std::vector<std::uint64_t> tids;
  const Column& marks = column(snapshot, identity_metric(kDescendant));
  for (std::size_t row = 0; row < snapshot.threads().rows; ++row)
    if (marks.has_value(row) && marks.bools()[row])
      tids.push_back(column(snapshot, identity_metric(kTid)).u64()[row]);
  return tids;
}

// Command 50 has a child 60 and its child 61; 70 was born of it, and fell to process 1; 71 has the
// id of one that was, and is another.
BOOST_AUTO_TEST_CASE(who_descends_from_the_command) {
  const Snapshot before = family_at(10, {{1, 1, 0}, {9, 5, 1}, {50, 900, 9}});
  Snapshot after = family_at(20, {{1, 1, 0},
                                  {9, 5, 1},
                                  {50, 900, 9},
                                  {60, 1100, 50},
                                  {61, 1101, 60},
                                  {70, 1200, 1},
                                  {71, 1300, 1},
                                  {72, 1400, 9}});
  Ended ended;
  ended.births = {{60, 1100}, {61, 1101}, {70, 1200}, {71, 1250}};
  mark_descendants(before, after, ended, {50});
  BOOST_TEST(descendants(after) == (std::vector<std::uint64_t>{50, 60, 61, 70}),
             boost::test_tools::per_element());
}

// Where nobody sees forks, orphans fall to us, process 9: not who was there before, nor who was
// born while the end was read.
BOOST_AUTO_TEST_CASE(orphans_of_the_command) {
  const Snapshot before = family_at(10, {{9, 5, 1}, {40, 800, 9}, {50, 900, 9}});
  Snapshot after = family_at(
      20, {{9, 5, 1}, {40, 800, 9}, {50, 900, 9}, {70, 1200, 9}, {71, 1300, 70}, {80, 2000, 9}});
  mark_descendants(before, after, {}, {50, 9});
  BOOST_TEST(descendants(after) == (std::vector<std::uint64_t>{50, 70, 71}),
             boost::test_tools::per_element());
}

// What ended has the word of who saw it.
BOOST_AUTO_TEST_CASE(descendants_that_ended) {
  const Snapshot before = family_at(10, {{50, 900, 9}});
  Snapshot after = family_at(20, {{50, 900, 9}});
  mark_descendants(before, after, {}, {50});
  Ended ended = ended_at(15, {{60, 1100}, {61, 1100}});
  add_bool(ended.rows, identity_metric(kDescendant), {true, false});
  const Snapshot told = window(before, std::move(after), std::move(ended));
  BOOST_TEST(told.threads().rows == 3u);
  BOOST_TEST(descendants(told) == (std::vector<std::uint64_t>{50, 60}),
             boost::test_tools::per_element());
}

// Daemon 60 was born in the first window, and 61 while its end was read; 62 ended there.
BOOST_AUTO_TEST_CASE(who_descends_in_windows_back_to_back) {
  const Snapshot first = family_at(10, {{50, 900, 9}});
  Snapshot boundary = family_at(20, {{50, 900, 9}, {60, 1100, 1}, {70, 1100, 1}});
  Ended ended;
  ended.births = {{60, 1100, 11 * kSecond}, {62, 1200, 12 * kSecond}, {61, 2000, 20 * kSecond + 1}};
  mark_descendants(first, boundary, ended, {50});
  auto lap = make_lap(first, std::move(boundary), ended);
  BOOST_REQUIRE(lap);
  BOOST_TEST(descendants(*lap) == (std::vector<std::uint64_t>{50, 60}),
             boost::test_tools::per_element());
  BOOST_REQUIRE_EQUAL(ended.births.size(), 1u);
  BOOST_TEST(ended.births[0].tgid == 61u);

  const Snapshot middle = end_of(std::move(*lap));
  Snapshot last = family_at(30, {{60, 1100, 1}, {61, 2000, 1}, {63, 2500, 60}, {70, 1100, 1}});
  mark_descendants(middle, last, ended, {50});
  BOOST_TEST(descendants(last) == (std::vector<std::uint64_t>{60, 61, 63}),
             boost::test_tools::per_element());
}

// Without anybody who sees forks, an orphan that fell to us in the first window is known by that.
BOOST_AUTO_TEST_CASE(orphans_in_windows_back_to_back) {
  const Snapshot first = family_at(10, {{9, 5, 1}, {40, 800, 9}, {50, 900, 9}});
  Snapshot boundary = family_at(20, {{9, 5, 1}, {40, 800, 9}, {50, 900, 9}, {70, 1200, 9}});
  mark_descendants(first, boundary, {}, {50, 9});
  Snapshot last = family_at(30, {{9, 5, 1}, {40, 800, 9}, {70, 1200, 9}, {71, 2200, 9}});
  mark_descendants(boundary, last, {}, {50, 9});
  BOOST_TEST(descendants(last) == (std::vector<std::uint64_t>{70, 71}),
             boost::test_tools::per_element());
}

// The leader of daemon 60 has ended, and other threads of it go on.
BOOST_AUTO_TEST_CASE(a_descendant_without_its_leader) {
  const Snapshot before = family_at(10, {{50, 900, 9}});
  Snapshot after = family_at(20, {{50, 900, 9}, {60, 1100, 1}, {61, 1100, 1}});
  Ended ended = ended_at(15, {{60, 1100}, {61, 1100}});
  add_bool(ended.rows, identity_metric(kDescendant), {true, false});
  mark_descendants(before, after, ended, {50});
  BOOST_TEST(descendants(after) == (std::vector<std::uint64_t>{50, 60}),
             boost::test_tools::per_element());
}

// Parents that a lister made up go round in a circle.
BOOST_AUTO_TEST_CASE(parents_that_lie) {
  const Snapshot before = family_at(10, {{50, 900, 51}});
  Snapshot after = family_at(20, {{50, 900, 51}, {51, 901, 50}, {52, 902, 52}});
  mark_descendants(before, after, {}, {50});
  BOOST_TEST(descendants(after) == (std::vector<std::uint64_t>{50, 51}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(ends_that_make_no_window) {
  Snapshot before = taken(10, {{1, 5}}), other = taken(20, {{1, 5}});
  other.meta.boot_id = "c";
  auto made = make_window(before, std::move(other), {}, "a.zst", "b.zst");
  BOOST_REQUIRE(!made);
  BOOST_TEST(made.error().text ==
             "making a window of 'a.zst..b.zst': they are of different boots; compare them with "
             "--lifetime");
  made = make_window(taken(20, {}), taken(10, {}), {}, "a.zst", "b.zst");
  BOOST_REQUIRE(!made);
  BOOST_TEST(made.error().text ==
             "making a window of 'a.zst..b.zst': the second was captured "
             "before the first: exchange them");
}

}  // namespace
}  // namespace ctprof
