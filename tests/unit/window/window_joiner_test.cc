// Tests splitting and joining windows.

#include "core/snapshot/file_extras.hpp"
#include "core/window/join_windows.hpp"

#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/window/differences.hpp"
#include "tests/unit/support/test_snapshots.hpp"

namespace ctprof::window_joiner_test {
namespace {

using namespace hand_made;

constexpr std::uint64_t kSecond = 1'000'000'000;

const MetricDef kFaults = metric("minflt", "MonotonicCount", "SumCount"),
                kHeap = metric("heap", "GaugeBytes", "SumGaugeBytes"),
                kPeak = metric("wait_max", "PeakNs", "MaxPeak"),
                kPolicy = metric("policy", "CategoricalString", "Mode");

// A thread that is its own process.
struct ThreadValues {
  std::uint64_t tid, start, faults, heap;
  std::string policy = "OTHER";
};

Snapshot snapshot_at(std::uint64_t second, const std::vector<ThreadValues>& threads) {
  std::vector<Thread> named;
  Cells<std::uint64_t> starts, faults, heaps, peaks;
  Cells<std::string> policies;
  for (const ThreadValues& thread : threads) {
    named.push_back({thread.tid, thread.tid, "p", "t"});
    starts.push_back(thread.start);
    faults.push_back(thread.faults);
    heaps.push_back(thread.heap);
    peaks.push_back(7);
    policies.push_back(thread.policy);
  }
  Snapshot snapshot = snapshot_of(named);
  add_u64(snapshot, identity_metric(kStartTime), starts);
  add_u64(snapshot, kFaults, faults);
  add_u64(snapshot, kHeap, heaps);
  add_u64(snapshot, kPeak, peaks);
  add_text(snapshot, kPolicy, policies);
  snapshot.meta.boot_id = "b";
  snapshot.meta.start.boottime_ns = second * kSecond;
  snapshot.read_at.assign(threads.size(), 7);
  return snapshot;
}

ExitedThreads exited_at(std::uint64_t second, const std::vector<ThreadValues>& threads) {
  ExitedThreads ended;
  ended.rows = snapshot_at(second, threads);
  ended.exit_ns.assign(threads.size(), second * kSecond);
  ended.has_source = true;
  return ended;
}

Snapshot check_window(Result<Snapshot> window) {
  BOOST_REQUIRE_MESSAGE(window, window.error().text);
  return std::move(*window);
}

// Returns cells such as "1:60 2:WentBackwards", by tid, in the order of rows.
std::string cells(const Snapshot& snapshot, const MetricDef& def) {
  const Column *tids = snapshot.threads().find(kTid), *column = snapshot.threads().find(def.name);
  if (!column) return "no column";
  std::string text;
  for (std::size_t row = 0; row < column->rows(); ++row)
    text += (row ? " " : "") + std::to_string(tids->u64()[row]) + ":" +
            (column->has_value(row) ? std::to_string(column->u64()[row])
                                    : std::string(name(column->gap(row))));
  return text;
}

BOOST_AUTO_TEST_SUITE(window_joiner_test)

// A joined window has the losses of each of its windows, whichever has them.
BOOST_AUTO_TEST_CASE(a_joined_window_has_the_losses_of_all_windows) {
  for (std::size_t lossy = 0; lossy < 3; ++lossy) {
    std::vector<Snapshot> windows;
    for (std::size_t at = 0; at < 3; ++at) {
      const std::uint64_t second = 10 + 10 * at;
      Window& window = *windows
                            .emplace_back(check_window(make_window(
                                snapshot_at(second, {{1, 5, 100, 8}}),
                                snapshot_at(second + 10, {{1, 5, 130, 6}}), exited_at(second, {}))))
                            .window;
      window.exited_lost = 100 + at;
      window.exited_unknown = 200 + at;
      window.exited_merged = 300 + at;
      window.is_partial = at == lossy;
      window.reports_exits = at != lossy;
    }
    WindowJoiner joiner(std::move(windows[0]));
    for (std::size_t at = 1; at < 3; ++at) joiner.add(std::move(windows[at]));
    const Snapshot whole = check_window(std::move(joiner).join());
    BOOST_TEST(whole.window->exited_lost == 303u);
    BOOST_TEST(whole.window->exited_unknown == 603u);
    BOOST_TEST(whole.window->exited_merged == 903u);
    BOOST_TEST(whole.window->is_partial, lossy);
    BOOST_TEST(!whole.window->reports_exits, lossy);
  }
}

BOOST_AUTO_TEST_CASE(counts_exited_threads_between_two_snapshots_without_subtracting_them) {
  const Snapshot before = snapshot_at(10, {{1, 5, 100, 1}, {2, 5, 1000, 1}, {3, 5, 1000, 1}});
  Snapshot window = check_window(
      window_between(before, snapshot_at(20, {{1, 5, 160, 1}, {3, 1500, 4, 1}}), "a", "b"));
  BOOST_TEST(window.window->exited_unknown == 2u);
  BOOST_TEST(!window.window->reports_exits);
  convert_to_differences(window);
  BOOST_TEST(cells(window, kFaults) == "1:60 3:4");
}

BOOST_AUTO_TEST_CASE(refuses_snapshots_in_wrong_order) {
  const auto window = window_between(snapshot_at(20, {}), snapshot_at(10, {}), "b", "a");
  BOOST_REQUIRE(!window);
  BOOST_TEST(window.error().text ==
             "making a window of 'b..a': the second was captured before the first: exchange them");
}

BOOST_AUTO_TEST_CASE(an_opening_has_the_host_context_of_that_time) {
  Snapshot before = snapshot_at(10, {}), after = snapshot_at(20, {});
  before.objects[kHostContext] = R"({"thp":"never"})";
  after.objects[kHostContext] = R"({"thp":"always"})";
  const Snapshot begin = opening_snapshot(check_window(make_window(before, std::move(after), {})));
  BOOST_TEST(begin.objects.at(kHostContext) == before.objects.at(kHostContext));
}

// The opening contains all rows that existed then, including those that exited inside the window,
// in table order.
BOOST_AUTO_TEST_CASE(restores_the_opening_of_a_window) {
  const std::vector<ThreadValues> initial_threads{
      {1, 5, 100, 8}, {2, 5, 50, 9, "FIFO"}, {3, 5, 7, 4}};
  Snapshot window = check_window(
      make_window(snapshot_at(10, initial_threads),
                  snapshot_at(20, {{1, 5, 160, 3, "FIFO"}, {3, 5, 9, 4}, {9, 1500, 1, 1}}),
                  exited_at(15, {{2, 5, 80, 0}, {8, 1100, 6, 0}})));
  for (const MetricDef* def : {&kPeak, &kHeap})
    window.extras->unknown_definitions.metric_members[def->name]["newer"] = "1";
  const Snapshot begin = opening_snapshot(std::move(window));
  BOOST_TEST(!begin.window);
  BOOST_TEST(begin.meta.start.boottime_ns == 10 * kSecond);
  BOOST_TEST(cells(begin, kFaults) == "1:100 2:50 3:7");
  BOOST_TEST(cells(begin, kHeap) == "1:8 2:9 3:4");
  BOOST_TEST(cells(begin, kPeak) == "no column");
  const auto processes = begin.table(Entity::Process).find(kProcessTgid)->u64();
  BOOST_TEST(processes == (std::vector<std::uint64_t>{1, 2, 3}), boost::test_tools::per_element());
  BOOST_TEST(begin.extras->unknown_definitions.metric_members.contains(kHeap.name));
  BOOST_TEST(!begin.extras->unknown_definitions.metric_members.contains(kPeak.name));
  BOOST_TEST(begin.read_at == std::vector<std::uint64_t>(3, 7), boost::test_tools::per_element());
  const Column& policies = *begin.threads().find("policy");
  BOOST_TEST(begin.pools->texts[policies.ids()[0]] == "OTHER");
  BOOST_TEST(begin.pools->texts[policies.ids()[1]] == "FIFO");
}

// The joined window equals a window over the whole time.
BOOST_AUTO_TEST_CASE(joins_consecutive_windows) {
  const std::vector<ThreadValues> first{{1, 5, 100, 8}, {2, 5, 50, 9}},
      second{{1, 5, 130, 6}, {2, 5, 55, 9}, {4, 1500, 3, 1}}, last{{1, 5, 160, 3}, {5, 2500, 8, 1}};
  Snapshot one = check_window(make_window(snapshot_at(10, first), snapshot_at(20, second),
                                          exited_at(12, {{7, 1100, 9, 0}}))),
           two = check_window(make_window(snapshot_at(20, second), snapshot_at(30, last),
                                          exited_at(25, {{2, 5, 80, 0}, {4, 1500, 5, 0}})));
  BOOST_TEST(follows(two, one));
  BOOST_TEST(!follows(one, two));
  one.window->notes = {"a clock was set"};
  one.window->exited_lost = 2;
  WindowJoiner joiner(std::move(one));
  joiner.add(std::move(two));
  Snapshot whole = check_window(std::move(joiner).join());
  BOOST_TEST(whole.window->opened_at.boottime_ns == 10 * kSecond);
  BOOST_TEST(whole.meta.start.boottime_ns == 30 * kSecond);
  BOOST_TEST(whole.window->living_threads == 2u);
  BOOST_TEST(whole.window->reports_exits);
  BOOST_TEST(whole.window->exited_lost == 2u);
  BOOST_TEST(whole.window->notes == std::vector<std::string>{"a clock was set"},
             boost::test_tools::per_element());
  convert_to_differences(whole);
  BOOST_TEST(cells(whole, kFaults) == "1:60 5:8 2:30 4:5 7:9");
}

// Returns the counters of process 40, whose thread 41 replaces its leader in the first or second
// window.
std::string join_with_exec(bool in_first) {
  const auto process = [](std::uint64_t second, const std::vector<std::uint64_t>& tids,
                          const Cells<std::uint64_t>& faults) {
    std::vector<Thread> threads;
    Cells<std::uint64_t> starts;
    Cells<std::string> states(tids.size(), "S");
    for (const std::uint64_t tid : tids) {
      threads.push_back({40, tid, "p", "t"});
      starts.push_back(tid == 40 ? 5 : 600);
    }
    Snapshot snapshot = snapshot_of(threads);
    add_u64(snapshot, identity_metric(kStartTime), starts);
    add_u64(snapshot, kFaults, faults);
    MetricDef state = metric("state", "Char", "ModeChar");
    state.role = "state";
    add_text(snapshot, state, states);
    snapshot.meta.boot_id = "b";
    snapshot.meta.start.boottime_ns = second * kSecond;
    snapshot.read_at.assign(tids.size(), 7);
    return snapshot;
  };
  ExitedThreads exec;
  exec.rows = process(0, {40}, {21});
  exec.exit_ns = {(in_first ? 15 : 25) * kSecond};
  exec.execs = {{40, 41, 600, exec.exit_ns[0] + 1}};
  ExitedThreads none;
  exec.has_source = none.has_source = true;
  const Snapshot before = process(10, {40, 41}, {20, 1000});
  std::vector<Snapshot> middle;
  for (int copies = 0; copies < 2; ++copies)
    middle.push_back(in_first ? process(20, {40}, {1001}) : process(20, {40, 41}, {20, 1001}));
  WindowJoiner joiner(
      check_window(make_window(before, std::move(middle[0]), std::move(in_first ? exec : none))));
  joiner.add(check_window(
      make_window(middle[1], process(30, {40}, {1003}), std::move(in_first ? none : exec))));
  Snapshot whole = check_window(std::move(joiner).join());
  convert_to_differences(whole);
  return cells(whole, kFaults);
}

BOOST_AUTO_TEST_CASE(joined_windows_follow_an_exec_by_another_thread_than_the_leader) {
  BOOST_TEST(join_with_exec(true) == "40:3 40:1");
  BOOST_TEST(join_with_exec(false) == "40:3 40:1");
}

// Start times have the precision of a tick; `seen` in a file is more precise.
BOOST_AUTO_TEST_CASE(joined_windows_keep_the_start_times_of_their_windows) {
  const std::vector<ThreadValues> second{{1, 5, 1, 1}, {4, 1500, 3, 1}},
      last{{1, 5, 2, 1}, {4, 1500, 4, 1}};
  Snapshot one = check_window(make_window(snapshot_at(10, {{1, 5, 0, 1}}), snapshot_at(20, second),
                                          exited_at(12, {{7, 1100, 9, 0}}))),
           two = check_window(
               make_window(snapshot_at(20, second), snapshot_at(30, last), exited_at(25, {})));
  BOOST_REQUIRE(one.window->seen_times.size() == 3u);
  one.window->seen_times[1].first = 5 * kSecond + 3;
  one.window->seen_times[2].first = kSecond + 7;
  WindowJoiner joiner(std::move(one));
  joiner.add(std::move(two));
  const Snapshot whole = check_window(std::move(joiner).join());
  BOOST_REQUIRE(whole.window->seen_times.size() == 3u);
  BOOST_TEST(whole.window->seen_times[0].first == 7u);
  BOOST_TEST(whole.window->seen_times[1].first == 5 * kSecond + 3);
  BOOST_TEST(whole.window->seen_times[2].first == kSecond + 7);
  BOOST_TEST(whole.window->seen_times[2].last == 2 * kSecond);
}

BOOST_AUTO_TEST_CASE(adds_the_time_that_sums_cover) {
  const auto window = [](std::uint64_t from, std::optional<std::uint64_t> covered) {
    Snapshot one = check_window(make_window(snapshot_at(from, {}), snapshot_at(from + 10, {}), {}));
    one.meta.stacks = {{.plugin = "sums", .source = "sums", .covered_ns = covered}};
    return one;
  };
  const auto covered = [&](std::optional<std::uint64_t> first, std::optional<std::uint64_t> next) {
    WindowJoiner joiner(window(10, first));
    joiner.add(window(20, next));
    return check_window(std::move(joiner).join()).meta.stacks.front().covered_ns;
  };
  BOOST_TEST(covered(8, 9).value_or(0) == 17u);
  BOOST_TEST(!covered(8, std::nullopt).has_value());
}

BOOST_AUTO_TEST_CASE(windows_of_two_boots_or_with_a_gap_are_not_consecutive) {
  const auto window = [](std::uint64_t from, std::uint64_t to) {
    return check_window(make_window(snapshot_at(from, {}), snapshot_at(to, {}), {}));
  };
  BOOST_TEST(!follows(window(21, 30), window(10, 20)));
  Snapshot other = window(20, 30);
  BOOST_TEST(follows(other, window(10, 20)));
  other.meta.boot_id = "c";
  BOOST_TEST(!follows(other, window(10, 20)));
  BOOST_TEST(!follows(snapshot_at(20, {}), window(10, 20)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::window_joiner_test
