// Tests the first screen: values, totals, scores and floors, and which groups are omitted.

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/support/screen_windows.hpp"

namespace ctprof::screen_test {
namespace {

using namespace screen_windows;

BOOST_AUTO_TEST_SUITE(screen_test)

BOOST_AUTO_TEST_CASE(values_are_rates_over_the_length_of_the_window) {
  const Snapshot window = window_of({{.name = "a",
                                      .cpu = 5 * kSecond,
                                      .switches = 200,
                                      .memory_before = 1 << 20,
                                      .memory_after = 5 << 20}},
                                    4);
  const Report report = report_of(window);
  const auto figures = find_row(report, "a").figures;
  BOOST_REQUIRE_EQUAL(figures.size(), 4u);
  BOOST_TEST(figures[0].value == 125.0);
  BOOST_TEST(figures[1].value == 50.0);
  BOOST_TEST(figures[3].value == 5.0 * (1 << 20));
  BOOST_TEST(figures[3].change == 4.0 * (1 << 20));
  BOOST_TEST(report.screen()->columns[0].floor == 1.0);  // 1e7 ns per second are one percent
}

BOOST_AUTO_TEST_CASE(a_score_is_the_largest_share) {
  const Snapshot window = window_of({{.name = "runs", .cpu = 6 * kSecond, .switches = 100},
                                     {.name = "both", .cpu = 2 * kSecond, .switches = 300},
                                     {.name = "grows", .memory_after = 9 << 20},
                                     {.name = "shrinks", .memory_before = 1 << 20}});
  const Report report = report_of(window);
  BOOST_TEST(find_row(report, "runs").score == 0.6);
  BOOST_TEST(find_row(report, "both").score == 0.2);
  BOOST_TEST(find_row(report, "grows").score == 0.9);
  BOOST_TEST(find_row(report, "shrinks").score == 0.1);
  BOOST_TEST(row_names(report) == "grows runs both shrinks");
  BOOST_TEST(find_row(report, "both").score_column == 0u);  // switches have no weight
}

// The p99 of `b` is larger, but does not order the rows.
BOOST_AUTO_TEST_CASE(a_histogram_is_shown_as_its_p99) {
  const MetricDef waits = with_headline(metric("waits", "HistogramNs", "HistogramMerge"),
                                        {"p99wait", 5, CTPROF_SHOWN_LEVEL, true, 1e6});
  const auto buckets_with = [](std::uint64_t value) {
    hand_made::Numbers buckets(CTPROF_HISTOGRAM_BUCKETS);
    buckets[2] = 1;
    ++buckets[ctprof_histogram_bucket(value)];
    return buckets;
  };
  const Snapshot window =
      window_of({{.name = "a", .cpu = 5 * kSecond}, {.name = "b", .cpu = kSecond}}, 10, {},
                [&](Snapshot& end, bool is_end) {
                  using hand_made::Numbers;
                  hand_made::add_numbers(
                      end, waits,
                      is_end ? Cells<Numbers>{buckets_with(5'000'000), buckets_with(kSecond)}
                             : Cells<Numbers>{Numbers{0, 0, 1}, Numbers{0, 0, 1}});
                });
  const Report report = report_of(window);
  BOOST_TEST(row_names(report) == "a b");
  BOOST_TEST(report.screen()->columns.back().headline.label == "p99wait");
  BOOST_TEST(find_row(report, "a").figures.back().value == 6291455);
  BOOST_TEST(find_row(report, "b").figures.back().value == 1073741823);
  Spec by_p99;
  by_p99.sort = {{SortKey::Criterion::Metric, "p99wait", false}};
  BOOST_TEST(row_names(report_of(window, by_p99)) == "b a");
}

BOOST_AUTO_TEST_CASE(omits_groups_below_every_floor) {
  // The floors are 10/s and 1 %.
  const Snapshot window = window_of({{.name = "few", .switches = 50},
                                     {.name = "more", .switches = 100},
                                     {.name = "tiny", .cpu = 20 * kMs},
                                     {.name = "some", .cpu = 200 * kMs}});
  const Report report = report_of(window);
  BOOST_TEST(row_names(report) == "some more");
  BOOST_TEST(report.screen()->quiet_groups == 2u);
  BOOST_TEST(find_row(report, "more").score == 0.0);
  BOOST_TEST(find_row(report, "more").has_score_value);
  const Snapshot quiet = window_of({{.name = "x", .cpu = 99 * kMs}});
  BOOST_TEST(report_of(quiet).screen()->rows.empty());
}

BOOST_AUTO_TEST_CASE(a_group_that_gains_many_threads_is_not_quiet) {
  const auto window_with_new_threads = [](std::size_t threads) {
    std::vector<ThreadActivity> all{{.name = "leaks"}};
    all.insert(all.end(), threads, {.name = "leaks", .is_started = true});
    return window_of(all);
  };
  const Snapshot few = window_with_new_threads(19), many = window_with_new_threads(20);
  BOOST_TEST(row_names(report_of(few)) == "");
  BOOST_TEST(row_names(report_of(many)) == "leaks");
  BOOST_TEST(row_names(report_of({&few, &many})) == "leaks");
}

BOOST_AUTO_TEST_CASE(counts_quiet_kernel_threads_and_threads_of_ctprof) {
  const Snapshot window = window_of({{.name = "kq", .cpu = 1, .is_kernel = true},
                                     {.name = "kloud", .cpu = kSecond, .is_kernel = true},
                                     {.name = "own", .cpu = 3 * kSecond},
                                     {.name = "quiet", .cpu = 1}},
                                    10, {3});
  const Report report = report_of(window);
  const Screen& screen = *report.screen();
  BOOST_TEST(row_names(report) == "kloud");
  BOOST_TEST(screen.quiet_kernel_threads == 1u);
  BOOST_TEST(screen.own_threads == 1u);
  BOOST_TEST(screen.quiet_groups == 1u);
  BOOST_TEST(screen.columns[0].totals[0] == 40.00000002, boost::test_tools::tolerance(1e-9));
}

// Blocked time includes voluntary sleep.
BOOST_AUTO_TEST_CASE(a_column_that_counts_changes_does_not_order_rows) {
  const std::vector<ThreadActivity> pool{{.name = "pool", .cpu = kSecond, .idle = 9 * kSecond},
                                         {.name = "run", .cpu = 2 * kSecond, .idle = 9 * kSecond}};
  std::vector<ThreadActivity> without_sleep = pool;
  without_sleep[0].idle = 4 * kSecond;
  const Snapshot before = window_of(pool), after = window_of(without_sleep);
  BOOST_TEST(row_names(report_of(before)) == "run pool");
  const Report report = report_of({&before, &after});
  BOOST_TEST(row_names(report) == "pool run");
  BOOST_TEST(find_row(report, "pool").score == 0.0);
  BOOST_TEST(!find_row(report, "pool").has_score_value);
}

// The two windows read threads at slightly different times, so the blocked time of idle threads
// differs slightly.
BOOST_AUTO_TEST_CASE(a_column_that_counts_changes_does_not_select_rows) {
  const Snapshot before = window_of({{.name = "pool", .idle = 90 * kSecond}}),
                 after = window_of({{.name = "pool", .idle = 91 * kSecond}});
  const Report report = report_of({&before, &after});
  BOOST_TEST(row_names(report) == "");
  BOOST_TEST(report.screen()->quiet_groups == 1u);
}

BOOST_AUTO_TEST_CASE(compares_windows_of_different_length_by_rates) {
  const Snapshot before = window_of({{.name = "a", .cpu = kSecond}, {.name = "b", .cpu = kSecond}}),
                 after = window_of(
                     {{.name = "a", .cpu = 2 * kSecond}, {.name = "c", .cpu = kSecond}}, 20);
  const Report report = report_of({&before, &after});
  BOOST_TEST(find_row(report, "a").score == 0.0);
  BOOST_TEST(find_row(report, "b").score == 0.1);   // minus 10 % of a CPU
  BOOST_TEST(find_row(report, "c").score == 0.05);  // plus 5 %
  BOOST_TEST(row_names(report) == "b c a");
  BOOST_TEST(ordering_value(report.screen()->columns[0],
                            report.screen()->figures(find_row(report, "b"), 0)) == -10.0);
}

BOOST_AUTO_TEST_CASE(marks_new_and_exited_groups_of_two_windows) {
  const Snapshot before = window_of({{.name = "a", .cpu = kSecond}, {.name = "b", .cpu = kSecond}}),
                 after = window_of({{.name = "a", .cpu = kSecond}, {.name = "c", .cpu = kSecond}});
  const Report report = report_of({&before, &after});
  for (const auto& [name, is_new, is_gone] :
       {std::tuple("a", false, false), {"b", false, true}, {"c", true, false}}) {
    BOOST_TEST(find_row(report, name).is_new() == is_new, name);
    BOOST_TEST(find_row(report, name).has_disappeared() == is_gone, name);
  }
}

BOOST_AUTO_TEST_CASE(a_level_is_compared_by_its_growth) {
  const Snapshot before = window_of(
                     {{.name = "leak", .memory_before = 1 << 20, .memory_after = 1 << 20}}),
                 after = window_of(
                     {{.name = "leak", .memory_before = 1 << 20, .memory_after = 7 << 20}});
  const Report report = report_of({&before, &after});
  BOOST_TEST(find_row(report, "leak").score == 1.0);
  BOOST_TEST(report.screen()->columns[3].totals.front() == 6.0 * (1 << 20));
}

BOOST_AUTO_TEST_CASE(missing_values_are_null_and_do_not_order_rows) {
  Snapshot window = window_of({{.name = "a", .cpu = kSecond}, {.name = "b", .cpu = kSecond}});
  window.threads().find("cpu")->gaps()[0] = static_cast<ctprof_gap>(Gap::NoBase);
  window.threads().find("switches")->u64()[0] = 1000;
  const Report report = report_of(window);
  BOOST_TEST(std::isnan(find_row(report, "a").figures[0].value));
  BOOST_TEST(find_row(report, "a").score_column == 1u);
  BOOST_TEST(report.screen()->columns[0].totals[0] == 10.0);
}

BOOST_AUTO_TEST_CASE(a_maximum_is_compared_with_the_largest_value) {
  const std::vector<ThreadActivity> all{{.name = "a"}, {.name = "b"}};
  Snapshot before = snapshot_at(10, all), after = snapshot_at(20, all);
  const MetricDef depth = with_headline(metric("depth", "GaugeCount", "MaxGaugeCount"),
                                        {"depth", 1, CTPROF_SHOWN_LEVEL, false, 1});
  add_u64(before, depth, {0, 0});
  add_u64(after, depth, {8, 2});
  auto made = make_window(before, std::move(after), {});
  BOOST_REQUIRE(made);
  convert_to_differences(*made);
  const Report report = report_of(*made);
  BOOST_TEST(report.screen()->columns[0].totals.front() == 8.0);
  BOOST_TEST(find_row(report, "a").score == 0.0);  // not a share of the machine
}

BOOST_AUTO_TEST_CASE(at_most_three_third_party_columns_come_last) {
  const std::vector<ThreadActivity> all{{.name = "a", .cpu = kSecond}};
  Snapshot before = snapshot_at(10, all), after = snapshot_at(20, all);
  for (const char* name : {"far_one", "far_two", "far_three", "far_four", "ours"}) {
    MetricDef def = with_headline(metric(name, "MonotonicCount", "SumCount"),
                                  {name, 0, CTPROF_SHOWN_RATE, false, 1});
    if (def.name != "ours") def.plugin = "far";
    add_u64(before, def, {0});
    add_u64(after, def, {100});
  }
  auto made = make_window(before, std::move(after), {});
  BOOST_REQUIRE(made);
  convert_to_differences(*made);
  const Report report = report_of(*made);
  std::string labels;
  for (const ScreenColumn& column : report.screen()->columns) labels += column.headline.label + " ";
  BOOST_TEST(labels == "ours far_one far_two far_three ");
  BOOST_TEST(report.screen()->omitted_labels == std::vector<std::string>{"far_four"});
}

BOOST_AUTO_TEST_CASE(has_no_screen_for_selected_metrics_or_without_headlines) {
  const Snapshot window = window_of({{.name = "a", .cpu = kSecond}});
  BOOST_TEST(!report_of(window, {.metrics = {"cpu"}}).screen());
  BOOST_TEST(!report_of(window, {.sections = {"primary"}}).screen());
  const std::vector<ThreadActivity> all{{.name = "a"}};
  auto made = make_window(snapshot_at(10, all), snapshot_at(20, all), {});
  BOOST_REQUIRE(made);
  convert_to_differences(*made);
  BOOST_TEST(!report_of(*made).screen());
}

// Returns a report of threads in cgroups; each entry has a path, if known, and CPU time.
Report cgroup_report(
    const std::vector<std::pair<std::optional<std::string>, std::uint64_t>>& cgroups) {
  std::vector<ThreadActivity> all;
  Cells<std::string> paths;
  for (const auto& [path, cpu] : cgroups) {
    all.push_back({.name = "x", .cpu = cpu});
    paths.push_back(path);
  }
  Snapshot window = window_of(all);
  add_text(window, identity_metric(kCgroup), paths);
  return report_of(window, {.group_by = GroupBy::Cgroup});
}

std::string depths_of(const Report& report) {
  std::string depths;
  for (const ScreenRow& row : report.screen()->rows) depths += std::to_string(row.depth);
  return depths;
}

BOOST_AUTO_TEST_CASE(shows_cgroups_as_a_tree) {
  const Report report = cgroup_report({{"/a", kSecond},
                                       {"/a-b", 4 * kSecond},
                                       {"/a/low", kSecond},
                                       {"/a/high", 5 * kSecond},
                                       {"/z/only", 2 * kSecond},
                                       {"/z", 1}});
  BOOST_TEST(row_names(report) == "/a /a/high /a/low /a-b /z/only");
  BOOST_TEST(depths_of(report) == "01100");
}

BOOST_AUTO_TEST_CASE(an_unknown_cgroup_has_no_children) {
  const Report report =
      cgroup_report({{"/", kSecond}, {std::nullopt, 2 * kSecond}, {"/a", 3 * kSecond}});
  BOOST_TEST(report.screen()->rows.size() == 3u);
  BOOST_TEST(row_names(report) == "/ /a ");
  BOOST_TEST(depths_of(report) == "010");
}

// Exited threads come after living threads, regardless of their ids.
BOOST_AUTO_TEST_CASE(finds_processes_among_living_threads) {
  const std::vector<ThreadActivity> all{{.name = "a"}, {.name = "b"}, {.name = "c"}};
  Snapshot before = snapshot_at(10, all), after = snapshot_at(20, all);
  const Cells<std::uint64_t> memory_bytes{1 << 20, 2 << 20, 4 << 20};
  MetricDef process_metric = kMemory;
  process_metric.entity = Entity::Process;
  add_u64(before, process_metric, {0, 0, 0});
  add_u64(after, process_metric, memory_bytes);
  ExitedThreads ended;
  ended.rows = snapshot_of({{1, 9, "a", "x"}, {2, 8, "b", "x"}});
  add_u64(ended.rows, identity_metric(kStartTime), {1100, 1100});
  ended.exit_ns.assign(2, 12 * kSecond);
  ended.has_source = true;
  auto made = make_window(before, std::move(after), std::move(ended));
  BOOST_REQUIRE(made);
  convert_to_differences(*made);
  const Report report = report_of(*made);
  for (const auto& [name, mib] : {std::pair("a", 1), {"b", 2}, {"c", 4}})
    BOOST_TEST(find_row(report, name).figures[0].value == mib * 0x1p20);
  const ScreenThreads& threads = find_row(report, "a").threads[0];
  BOOST_TEST((threads.living == 1 && threads.started == 1 && threads.exited == 1));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::screen_test
