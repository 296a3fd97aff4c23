// The first screen: figures, totals, scores and floors, and what stays out.

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/support/made_screen.hpp"

namespace ctprof::screen_test {
namespace {

using namespace made_screen;

BOOST_AUTO_TEST_SUITE(screen_test)

BOOST_AUTO_TEST_CASE(figures_are_rates_over_the_length_of_the_window) {
  const Snapshot window = window_of({{.name = "a",
                                      .cpu = 5 * kSecond,
                                      .switches = 200,
                                      .held_before = 1 << 20,
                                      .held_after = 5 << 20}},
                                    4);
  const Report report = report_of(window);
  const auto figures = row(report, "a").figures;
  BOOST_REQUIRE_EQUAL(figures.size(), 4u);
  BOOST_TEST(figures[0].value == 125.0);
  BOOST_TEST(figures[1].value == 50.0);
  BOOST_TEST(figures[3].value == 5.0 * (1 << 20));
  BOOST_TEST(figures[3].change == 4.0 * (1 << 20));
  BOOST_TEST(report.screen()->columns[0].floor == 1.0);  // 1e7 ns a second are one percent
}

BOOST_AUTO_TEST_CASE(a_score_is_the_largest_share) {
  const Snapshot window = window_of({{.name = "runs", .cpu = 6 * kSecond, .switches = 100},
                                     {.name = "both", .cpu = 2 * kSecond, .switches = 300},
                                     {.name = "grows", .held_after = 9 << 20},
                                     {.name = "shrinks", .held_before = 1 << 20}});
  const Report report = report_of(window);
  BOOST_TEST(row(report, "runs").score == 0.6);
  BOOST_TEST(row(report, "both").score == 0.2);
  BOOST_TEST(row(report, "grows").score == 0.9);
  BOOST_TEST(row(report, "shrinks").score == 0.1);
  BOOST_TEST(names(report) == "grows runs both shrinks");
  BOOST_TEST(row(report, "both").decided_by == 0u);  // switches have no weight of their own
}

BOOST_AUTO_TEST_CASE(groups_below_every_floor_stay_out) {
  // The floors are 10/s and 1 %.
  const Snapshot window = window_of({{.name = "few", .switches = 50},
                                     {.name = "more", .switches = 100},
                                     {.name = "tiny", .cpu = 20 * kMs},
                                     {.name = "some", .cpu = 200 * kMs}});
  const Report report = report_of(window);
  BOOST_TEST(names(report) == "some more");
  BOOST_TEST(report.screen()->quiet_groups == 2u);
  BOOST_TEST(row(report, "more").score == 0.0);
  BOOST_TEST(row(report, "more").has_moved);
  const Snapshot quiet = window_of({{.name = "x", .cpu = 99 * kMs}});
  BOOST_TEST(report_of(quiet).screen()->rows.empty());
}

BOOST_AUTO_TEST_CASE(a_group_that_gains_many_threads_is_not_quiet) {
  const auto leaks = [](std::size_t threads) {
    std::vector<Did> all{{.name = "leaks"}};
    all.insert(all.end(), threads, {.name = "leaks", .is_born = true});
    return window_of(all);
  };
  const Snapshot few = leaks(19), many = leaks(20);
  BOOST_TEST(names(report_of(few)) == "");
  BOOST_TEST(names(report_of(many)) == "leaks");
  BOOST_TEST(names(report_of({&few, &many})) == "leaks");
}

BOOST_AUTO_TEST_CASE(quiet_kernel_threads_and_our_own_are_counted) {
  const Snapshot window = window_of({{.name = "kq", .cpu = 1, .is_kernel = true},
                                     {.name = "kloud", .cpu = kSecond, .is_kernel = true},
                                     {.name = "own", .cpu = 3 * kSecond},
                                     {.name = "quiet", .cpu = 1}},
                                    10, {3});
  const Report report = report_of(window);
  const Screen& screen = *report.screen();
  BOOST_TEST(names(report) == "kloud");
  BOOST_TEST(screen.quiet_kernel_threads == 1u);
  BOOST_TEST(screen.own_threads == 1u);
  BOOST_TEST(screen.quiet_groups == 1u);
  BOOST_TEST(screen.columns[0].totals[0] == 40.00000002, boost::test_tools::tolerance(1e-9));
}

// Sleep that a thread chose is among the time that it was blocked.
BOOST_AUTO_TEST_CASE(what_counts_by_change_orders_nothing) {
  const std::vector<Did> pool{{.name = "pool", .cpu = kSecond, .idle = 9 * kSecond},
                              {.name = "run", .cpu = 2 * kSecond, .idle = 9 * kSecond}};
  std::vector<Did> awake = pool;
  awake[0].idle = 4 * kSecond;
  const Snapshot before = window_of(pool), after = window_of(awake);
  BOOST_TEST(names(report_of(before)) == "run pool");
  const Report report = report_of({&before, &after});
  BOOST_TEST(names(report) == "pool run");
  BOOST_TEST(row(report, "pool").score == 0.0);
  BOOST_TEST(!row(report, "pool").has_moved);
}

// Threads are not read at the same moment of both windows, so that those of who does nothing are
// blocked for a little longer or shorter.
BOOST_AUTO_TEST_CASE(what_counts_by_change_brings_nobody_onto_the_screen) {
  const Snapshot before = window_of({{.name = "pool", .idle = 90 * kSecond}}),
                 after = window_of({{.name = "pool", .idle = 91 * kSecond}});
  const Report report = report_of({&before, &after});
  BOOST_TEST(names(report) == "");
  BOOST_TEST(report.screen()->quiet_groups == 1u);
}

BOOST_AUTO_TEST_CASE(windows_of_different_length_are_compared_by_their_rates) {
  const Snapshot before = window_of({{.name = "a", .cpu = kSecond}, {.name = "b", .cpu = kSecond}}),
                 after = window_of(
                     {{.name = "a", .cpu = 2 * kSecond}, {.name = "c", .cpu = kSecond}}, 20);
  const Report report = report_of({&before, &after});
  BOOST_TEST(row(report, "a").score == 0.0);
  BOOST_TEST(row(report, "b").score == 0.1);   // 10 % of a CPU went
  BOOST_TEST(row(report, "c").score == 0.05);  // 5 % came
  BOOST_TEST(names(report) == "b c a");
  BOOST_TEST(moved(report.screen()->columns[0], report.screen()->figures(row(report, "b"), 0)) ==
             -10.0);
}

BOOST_AUTO_TEST_CASE(who_is_new_and_who_is_gone_of_two_windows) {
  const Snapshot before = window_of({{.name = "a", .cpu = kSecond}, {.name = "b", .cpu = kSecond}}),
                 after = window_of({{.name = "a", .cpu = kSecond}, {.name = "c", .cpu = kSecond}});
  const Report report = report_of({&before, &after});
  for (const auto& [name, is_new, is_gone] :
       {std::tuple("a", false, false), {"b", false, true}, {"c", true, false}}) {
    BOOST_TEST(row(report, name).is_new() == is_new, name);
    BOOST_TEST(row(report, name).is_gone() == is_gone, name);
  }
}

BOOST_AUTO_TEST_CASE(a_level_moves_by_what_it_grew_to) {
  const Snapshot before =
                     window_of({{.name = "leak", .held_before = 1 << 20, .held_after = 1 << 20}}),
                 after =
                     window_of({{.name = "leak", .held_before = 1 << 20, .held_after = 7 << 20}});
  const Report report = report_of({&before, &after});
  BOOST_TEST(row(report, "leak").score == 1.0);
  BOOST_TEST(report.screen()->columns[3].totals.front() == 6.0 * (1 << 20));
}

BOOST_AUTO_TEST_CASE(what_is_not_known_orders_nothing_and_is_null) {
  Snapshot window = window_of({{.name = "a", .cpu = kSecond}, {.name = "b", .cpu = kSecond}});
  window.threads().find("cpu")->gaps()[0] = static_cast<ctprof_gap>(Gap::NoBase);
  window.threads().find("switches")->u64()[0] = 1000;
  const Report report = report_of(window);
  BOOST_TEST(std::isnan(row(report, "a").figures[0].value));
  BOOST_TEST(row(report, "a").decided_by == 1u);
  BOOST_TEST(report.screen()->columns[0].totals[0] == 10.0);
}

BOOST_AUTO_TEST_CASE(what_does_not_add_up_has_the_largest_as_its_whole) {
  const std::vector<Did> all{{.name = "a"}, {.name = "b"}};
  Snapshot before = taken(10, all), after = taken(20, all);
  const MetricDef depth = shown(metric("depth", "GaugeCount", "MaxGaugeCount"),
                                {"depth", 1, CTPROF_SHOWN_LEVEL, false, 1});
  add_u64(before, depth, {0, 0});
  add_u64(after, depth, {8, 2});
  auto made = make_window(before, std::move(after), {});
  BOOST_REQUIRE(made);
  to_differences(*made);
  const Report report = report_of(*made);
  BOOST_TEST(report.screen()->columns[0].totals.front() == 8.0);
  BOOST_TEST(row(report, "a").score == 0.0);  // it is no share of the machine
}

BOOST_AUTO_TEST_CASE(three_columns_of_third_parties_come_last) {
  const std::vector<Did> all{{.name = "a", .cpu = kSecond}};
  Snapshot before = taken(10, all), after = taken(20, all);
  for (const char* name : {"far_one", "far_two", "far_three", "far_four", "ours"}) {
    MetricDef def =
        shown(metric(name, "MonotonicCount", "SumCount"), {name, 0, CTPROF_SHOWN_RATE, false, 1});
    if (def.name != "ours") def.plugin = "far";
    add_u64(before, def, {0});
    add_u64(after, def, {100});
  }
  auto made = make_window(before, std::move(after), {});
  BOOST_REQUIRE(made);
  to_differences(*made);
  const Report report = report_of(*made);
  std::string labels;
  for (const ScreenColumn& column : report.screen()->columns) labels += column.headline.label + " ";
  BOOST_TEST(labels == "ours far_one far_two far_three ");
  BOOST_TEST(report.screen()->no_place == std::vector<std::string>{"far_four"});
}

BOOST_AUTO_TEST_CASE(no_screen_where_only_some_metrics_are_wanted_or_none_is_a_headline) {
  const Snapshot window = window_of({{.name = "a", .cpu = kSecond}});
  BOOST_TEST(!report_of(window, {.metrics = {"cpu"}}).screen());
  BOOST_TEST(!report_of(window, {.sections = {"primary"}}).screen());
  const std::vector<Did> all{{.name = "a"}};
  auto made = make_window(taken(10, all), taken(20, all), {});
  BOOST_REQUIRE(made);
  to_differences(*made);
  BOOST_TEST(!report_of(*made).screen());
}

// Threads in cgroups: path, where it is known, and CPU time.
Report tree_of(const std::vector<std::pair<std::optional<std::string>, std::uint64_t>>& cgroups) {
  std::vector<Did> all;
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

BOOST_AUTO_TEST_CASE(cgroups_are_a_tree) {
  const Report report = tree_of({{"/a", kSecond},
                                 {"/a-b", 4 * kSecond},
                                 {"/a/low", kSecond},
                                 {"/a/high", 5 * kSecond},
                                 {"/z/only", 2 * kSecond},
                                 {"/z", 1}});
  BOOST_TEST(names(report) == "/a /a/high /a/low /a-b /z/only");
  BOOST_TEST(depths_of(report) == "01100");
}

BOOST_AUTO_TEST_CASE(no_cgroup_is_below_an_unknown_one) {
  const Report report = tree_of({{"/", kSecond}, {std::nullopt, 2 * kSecond}, {"/a", 3 * kSecond}});
  BOOST_TEST(report.screen()->rows.size() == 3u);
  BOOST_TEST(names(report) == "/ /a ");
  BOOST_TEST(depths_of(report) == "010");
}

// Threads that ended stand behind those that live, whatever their ids.
BOOST_AUTO_TEST_CASE(processes_are_found_among_the_threads_that_live) {
  const std::vector<Did> all{{.name = "a"}, {.name = "b"}, {.name = "c"}};
  Snapshot before = taken(10, all), after = taken(20, all);
  const Cells<std::uint64_t> held{1 << 20, 2 << 20, 4 << 20};
  MetricDef of_process = kHeld;
  of_process.entity = Entity::Process;
  add_u64(before, of_process, {0, 0, 0});
  add_u64(after, of_process, held);
  Ended ended;
  ended.rows = snapshot_of({{1, 9, "a", "x"}, {2, 8, "b", "x"}});
  add_u64(ended.rows, identity_metric(kStartTime), {1100, 1100});
  ended.at_ns.assign(2, 12 * kSecond);
  ended.told = true;
  auto made = make_window(before, std::move(after), std::move(ended));
  BOOST_REQUIRE(made);
  to_differences(*made);
  const Report report = report_of(*made);
  for (const auto& [name, mib] : {std::pair("a", 1), {"b", 2}, {"c", 4}})
    BOOST_TEST(row(report, name).figures[0].value == mib * 0x1p20);
  const ScreenThreads& threads = row(report, "a").threads[0];
  BOOST_TEST((threads.living == 1 && threads.born == 1 && threads.ended == 1));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::screen_test
