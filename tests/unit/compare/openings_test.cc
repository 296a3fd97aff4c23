// Tests the change of a gauge of a group in a window in which rows leave or join the group.

#include <cmath>

#include "core/window/join_windows.hpp"
#include "tests/unit/support/screen_windows.hpp"

namespace ctprof::openings_test {
namespace {

using namespace screen_windows;

constexpr std::uint64_t kMiB = 1 << 20;

MetricDef of(Entity entity, MetricDef def) {
  def.entity = entity;
  return def;
}

const MetricDef kRss =
    of(Entity::Process, with_headline(metric("rss", "GaugeBytes", "SumGaugeBytes"),
                                      {"rss", 3, CTPROF_SHOWN_LEVEL, false, 0x1p20}));

// A process with one thread. is_new: it started inside the window.
struct Process {
  std::uint64_t tgid;
  std::string name;
  std::optional<std::uint64_t> mib;
  bool is_new = false;
};

Snapshot snapshot_at(std::uint64_t second, const std::vector<Process>& processes) {
  std::vector<Thread> threads;
  Cells<std::uint64_t> starts, rss, cpu;
  for (const Process& process : processes) {
    threads.push_back({process.tgid, process.tgid, process.name, process.name});
    starts.push_back(process.is_new ? 1100 : 5);
    rss.push_back(process.mib ? std::optional(*process.mib * kMiB) : std::nullopt);
    cpu.push_back(second * kSecond);
  }
  Snapshot snapshot = snapshot_of(threads);
  add_u64(snapshot, identity_metric(kStartTime), starts);
  add_u64(snapshot, kCpu, cpu);
  add_u64(snapshot, kRss, rss);
  add_u64(snapshot, kMemory, rss, Gap::NotApplicable);
  snapshot.meta.boot_id = "b";
  snapshot.meta.start.boottime_ns = second * kSecond;
  snapshot.read_at.assign(processes.size(), 1);
  return snapshot;
}

// The exited threads, as a source reports them: without gauges.
ExitedThreads exited_threads(const std::vector<Process>& processes) {
  ExitedThreads ended;
  ended.rows = snapshot_at(15, processes);
  std::erase_if(ended.rows.threads().columns,
                [](const Column& column) { return column.def().name == kMemory.name; });
  ended.exit_ns.assign(processes.size(), 15 * kSecond);
  ended.has_source = true;
  return ended;
}

const std::vector<Process> kPool{{1, "pool", 60}, {2, "pool", 60}, {3, "other", 8}};
const std::vector<Process> kReplaced{{3, "other", 9}, {4, "pool", 60, true}, {5, "pool", 70, true}};

Snapshot checked_window(Result<Snapshot> window) {
  BOOST_REQUIRE_MESSAGE(window, window.error().text);
  return std::move(*window);
}

// Returns a window in which all workers of the pool were replaced.
Snapshot window_with_replaced_workers() {
  return checked_window(make_window(snapshot_at(10, kPool), snapshot_at(20, kReplaced),
                                    exited_threads({kPool[0], kPool[1]})));
}

struct GaugeChange {
  double mib, change;
  bool is_new;
  bool operator==(const GaugeChange&) const = default;
};

std::ostream& operator<<(std::ostream& out, const GaugeChange& gauge_change) {
  return out << gauge_change.mib << " MiB, changed by " << gauge_change.change
             << (gauge_change.is_new ? ", new" : "");
}

GaugeChange gauge_change(const Report& report, const std::string& group, std::size_t column = 1) {
  const ScreenFigure figure = find_row(report, group).figures.at(column);
  return {figure.value / kMiB, std::isnan(figure.change) ? -1000 : figure.change / kMiB,
          figure.is_new};
}

GaugeChange gauge_change(Snapshot window, const std::string& group, Spec spec = {}) {
  convert_to_differences(window);
  return gauge_change(report_of(window, std::move(spec)), group);
}

constexpr double kUnknown = -1000;

BOOST_AUTO_TEST_SUITE(openings_test)

BOOST_AUTO_TEST_CASE(the_change_of_a_pool_with_replaced_workers_is_end_minus_start) {
  BOOST_TEST(gauge_change(window_with_replaced_workers(), "pool") == (GaugeChange{130, 10, false}));
  BOOST_TEST(gauge_change(window_with_replaced_workers(), "other") == (GaugeChange{9, 1, false}));
}

BOOST_AUTO_TEST_CASE(a_gauge_of_threads_counts_exited_threads) {
  Snapshot window = window_with_replaced_workers();
  convert_to_differences(window);
  BOOST_TEST(gauge_change(report_of(window), "pool", 2) == (GaugeChange{130, 10, false}));
}

BOOST_AUTO_TEST_CASE(two_snapshots_count_processes_that_exited_in_between) {
  Snapshot window =
      checked_window(window_between(snapshot_at(10, kPool), snapshot_at(20, kReplaced), "a", "b"));
  BOOST_TEST(gauge_change(std::move(window), "pool") == (GaugeChange{130, 10, false}));
}

BOOST_AUTO_TEST_CASE(a_group_is_new_if_all_rows_started_inside_the_window) {
  Snapshot window = checked_window(
      make_window(snapshot_at(10, {{3, "other", 8}}), snapshot_at(20, kReplaced), {}));
  BOOST_TEST(gauge_change(std::move(window), "pool") == (GaugeChange{130, 130, true}));
}

BOOST_AUTO_TEST_CASE(an_exited_group_loses_its_opening_value) {
  Snapshot window =
      checked_window(make_window(snapshot_at(10, kPool), snapshot_at(20, {{3, "other", 8}}),
                                 exited_threads({kPool[0], kPool[1]})));
  BOOST_TEST(gauge_change(std::move(window), "pool") == (GaugeChange{0, -120, false}));
}

// The thread belongs to the group of its name at exit, and so does its memory.
BOOST_AUTO_TEST_CASE(a_renamed_process_leaves_the_group_of_its_last_name) {
  const std::vector<Process> then{{1, "sh", 60}, {2, "sh", 50}, {3, "sleep", 8}};
  const std::vector<Process> now{{2, "sh", 50}, {3, "sleep", 9}};
  const auto window = [&] {
    return checked_window(make_window(snapshot_at(10, then), snapshot_at(20, now),
                                      exited_threads({{1, "sleep", 60}})));
  };
  BOOST_TEST(gauge_change(window(), "sh") == (GaugeChange{50, 0, false}));
  BOOST_TEST(gauge_change(window(), "sleep") == (GaugeChange{9, -59, false}));
}

BOOST_AUTO_TEST_CASE(a_process_without_memory_at_the_end_loses_its_opening_value) {
  std::vector<Process> zombie = kPool;
  zombie[1].mib.reset();
  Snapshot window =
      checked_window(make_window(snapshot_at(10, kPool), snapshot_at(20, zombie), {}));
  BOOST_TEST(gauge_change(std::move(window), "pool") == (GaugeChange{60, -60, false}));
}

BOOST_AUTO_TEST_CASE(a_missing_opening_value_makes_the_change_unknown) {
  std::vector<Process> pool_with_gap = kPool;
  pool_with_gap[1].mib.reset();
  Snapshot window =
      checked_window(make_window(snapshot_at(10, pool_with_gap), snapshot_at(20, kReplaced),
                                 exited_threads({kPool[0], kPool[1]})));
  BOOST_TEST(gauge_change(std::move(window), "pool") == (GaugeChange{130, kUnknown, false}));
}

BOOST_AUTO_TEST_CASE(the_change_is_unknown_without_opening_rows) {
  Snapshot window = window_with_replaced_workers();
  window.window->opening_only.reset();
  BOOST_TEST(gauge_change(std::move(window), "pool") == (GaugeChange{130, kUnknown, false}));
  window = window_with_replaced_workers();
  window.window->opening_only.reset();
  BOOST_TEST(gauge_change(std::move(window), "other") == (GaugeChange{9, 1, false}));
  Snapshot unseen =
      checked_window(window_between(snapshot_at(10, kPool), snapshot_at(20, kReplaced), "a", "b"));
  unseen.window->opening_only.reset();
  BOOST_TEST(gauge_change(std::move(unseen), "other") == (GaugeChange{9, kUnknown, false}));
}

Spec with_condition(const std::string& condition) {
  Spec spec;
  BOOST_REQUIRE(add_condition(spec.where, condition));
  return spec;
}

BOOST_AUTO_TEST_CASE(a_thread_condition_applies_to_exited_threads) {
  BOOST_TEST(gauge_change(window_with_replaced_workers(), "pool", with_condition("tid != 1")) ==
             (GaugeChange{130, 70, false}));
  BOOST_TEST(gauge_change(window_with_replaced_workers(), "pool", with_condition("cpu >= 0")) ==
             (GaugeChange{130, kUnknown, false}));
}

// The median of the changes of three runs: 10, 10 and -60.
BOOST_AUTO_TEST_CASE(a_side_of_several_runs_has_the_median_change) {
  std::vector<Snapshot> runs;
  runs.push_back(window_with_replaced_workers());
  runs.push_back(window_with_replaced_workers());
  runs.push_back(checked_window(make_window(snapshot_at(10, kPool),
                                            snapshot_at(20, {{2, "pool", 60}, {3, "other", 8}}),
                                            exited_threads({kPool[0]}))));
  for (Snapshot& run : runs) convert_to_differences(run);
  Spec spec;
  spec.side_sizes = {3};
  BOOST_TEST(gauge_change(report_of({&runs[0], &runs[1], &runs[2]}, spec), "pool") ==
             (GaugeChange{130, 10, false}));
}

// Each worker has its own name; the names share a pattern.
BOOST_AUTO_TEST_CASE(a_name_pattern_counts_exited_members) {
  Snapshot window =
      checked_window(window_between(snapshot_at(10, {{1, "worker-1", 60}}),
                                    snapshot_at(20, {{2, "worker-2", 70, true}}), "a", "b"));
  BOOST_TEST(gauge_change(std::move(window), "worker-{N}") == (GaugeChange{70, 10, false}));
}

Snapshot with_cgroup(std::uint64_t second, std::uint64_t id, std::uint64_t mib) {
  Snapshot snapshot = snapshot_at(second, {{1, "p", 1}});
  add_text(snapshot, identity_metric(kCgroup), {"/unit"});
  snapshot.table(Entity::Cgroup).rows = 1;
  add_text(snapshot, identity_metric(kCgroupPath), {"/unit"});
  add_u64(snapshot, identity_metric(kCgroupId), {id});
  add_u64(snapshot,
          with_headline(metric("memory", "GaugeBytes", "MaxGaugeBytes", Entity::Cgroup),
                        {"memory", 9, CTPROF_SHOWN_LEVEL, false, 1}),
          {mib * kMiB});
  return snapshot;
}

BOOST_AUTO_TEST_CASE(a_recreated_cgroup_is_not_new) {
  Snapshot window = checked_window(make_window(with_cgroup(10, 7, 50), with_cgroup(20, 8, 40), {}));
  convert_to_differences(window);
  const Report report = report_of(window, {.group_by = GroupBy::Cgroup});
  BOOST_TEST(gauge_change(report, "/unit", 3) == (GaugeChange{40, -10, false}));
}

// One worker exits in the first window, another one in the second.
BOOST_AUTO_TEST_CASE(merged_windows_count_exits_of_each) {
  const std::vector<Process> middle{{2, "pool", 61}, {3, "other", 8}, {4, "pool", 62, true}};
  const auto windows = [&](bool seen) {
    std::vector<Snapshot> both;
    const ExitedThreads first = exited_threads({kPool[0]});
    both.push_back(
        checked_window(make_window(snapshot_at(10, kPool), snapshot_at(20, middle),
                                   seen ? exited_threads({kPool[0]}) : ExitedThreads())));
    both.push_back(
        checked_window(make_window(snapshot_at(20, middle), snapshot_at(30, kReplaced), {})));
    return both;
  };
  for (const bool seen : {true, false}) {
    std::vector<Snapshot> both = windows(seen);
    WindowJoiner joiner(std::move(both[0]));
    joiner.add(std::move(both[1]));
    BOOST_TEST(gauge_change(checked_window(std::move(joiner).join()), "pool") ==
               (GaugeChange{130, 10, false}));
  }
  std::vector<Snapshot> old = windows(true);
  old[0].window->opening_only.reset();
  WindowJoiner joiner(std::move(old[0]));
  joiner.add(std::move(old[1]));
  BOOST_TEST(gauge_change(checked_window(std::move(joiner).join()), "pool") ==
             (GaugeChange{130, kUnknown, false}));
}

BOOST_AUTO_TEST_CASE(the_opening_of_a_window_contains_exited_processes) {
  for (const bool seen : {true, false}) {
    ExitedThreads ended = seen ? exited_threads({kPool[0], kPool[1]}) : ExitedThreads();
    const Snapshot begin = opening_snapshot(checked_window(
        make_window(snapshot_at(10, kPool), snapshot_at(20, kReplaced), std::move(ended))));
    BOOST_TEST(begin.threads().rows == 3u);
    const Column& rss = *begin.table(Entity::Process).find(kRss.name);
    BOOST_TEST(rss.u64() == (std::vector<std::uint64_t>{60 * kMiB, 60 * kMiB, 8 * kMiB}),
               boost::test_tools::per_element());
    BOOST_TEST(begin.read_at == std::vector<std::uint64_t>(3, 1), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::openings_test
