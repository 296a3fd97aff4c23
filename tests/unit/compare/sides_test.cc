// Tests sides with several runs and windows that are shown together: medians of rates.

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "core/compare/report/screen.hpp"
#include "core/render/report_text.hpp"
#include "tests/unit/support/test_sides.hpp"

namespace ctprof::sides_test {
namespace {

using namespace test_sides;

BOOST_AUTO_TEST_SUITE(sides_test)

BOOST_AUTO_TEST_CASE(a_side_shows_the_median_of_its_runs) {
  const auto runs =
      runs_of({{{"web", 10, 5}}, {{"web", 70, 1}}, {{"web", 30, {}}}, {{"db", 3, 3}}});
  const json::value report = report_json(report_of(runs, {{4}}));
  BOOST_TEST(json_member(report, "web", "run_time_ns", "value") == "20");  // 0, 10, 30, 70
  BOOST_TEST(json_member(report, "web", "run_time_ns", "runs") == "3");
  BOOST_TEST(json_member(report, "web", "run_time_ns", "per_second") == "false");
  BOOST_TEST(json_member(report, "web", "heap", "value") == "1");  // 0, 1, 5, and a missing value
  BOOST_TEST(json_member(report, "web", "heap", "runs") == "2");
  BOOST_TEST(json_member(report, "web", "heap", "coverage") == R"({"values":2,"rows":3})");
  BOOST_TEST(json_member(report, "db", "run_time_ns", "value") == "0");
  BOOST_TEST(report.at("snapshot").at("runs").as_array().size() == 4u);
}

BOOST_AUTO_TEST_CASE(thread_counts_on_the_screen_are_medians) {
  ScreenMedians medians;
  medians.add(std::vector<ScreenThreads>{{.living = 3, .started = 1}, {.living = 4}});
  medians.add(std::vector<ScreenThreads>{{.living = 1}, {}});
  medians.add(std::vector<ScreenThreads>{{.living = 2, .started = 5}, {}});
  const auto threads = std::move(medians).compute(3);
  BOOST_TEST(threads[0].living == 2u);
  BOOST_TEST(threads[0].started == 1u);
  BOOST_TEST(threads[1].living == 0u);
  BOOST_TEST(threads[2].living == 0u);
}

BOOST_AUTO_TEST_CASE(values_that_are_not_numbers_aggregate_all_rows) {
  const auto runs = runs_of({{{"web", 1, 1, "FIFO", -5}},
                             {{"web", 1, 1, "OTHER", 3}, {"web", 1, 1, "OTHER", 3}},
                             {{"web", 1, 1, "FIFO", 0}, {"web", 1, 1, "OTHER", 0}}});
  const json::value report = report_json(report_of(runs, {{3}}));
  BOOST_TEST(json_member(report, "web", "policy", "value") ==
             R"({"value":"OTHER","count":3,"total":5})");
  BOOST_TEST(json_member(report, "web", "nice", "value") == R"({"min":-5,"max":3})");
  BOOST_TEST(json_member(report, "web", "run_time_ns", "threads") == "2");  // the median
}

BOOST_AUTO_TEST_CASE(maps_have_a_median_for_each_key) {
  const auto runs = runs_of({{{"web", 1, 1, "O", 0, {{"hits", 4}, {"size", 8}}}},
                             {{"web", 1, 1, "O", 0, {{"hits", 6}}}},
                             {{"web", 1, 1, "O", 0, {{"hits", 5}, {"size", 2}}}}});
  const Report report = report_of(runs, {{3}});
  BOOST_TEST(json_member(report_json(report), "web", "stats", "value") == R"({"hits":5,"size":5})");
  BOOST_TEST(report_csv(report).find("web,stats,hits,count,5,") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(several_windows_show_the_median_of_rates) {
  std::vector<Snapshot> runs;
  runs.push_back(window_of(1, {{"web", 10, 5, "O", 0, {{"hits", 4}, {"size", 8}}}}));
  runs.push_back(window_of(2, {{"web", 60, 9, "O", 0, {{"hits", 4}, {"size", 6}}}}));
  runs.push_back(window_of(4, {{"web", 80, 7, "O", 0, {{"hits", 4}, {"size", 2}}}}));
  const Report report = report_of(runs, {{3}});
  const json::value rows = report_json(report);
  BOOST_TEST(json_member(rows, "web", "run_time_ns", "value") == "20");
  BOOST_TEST(json_member(rows, "web", "run_time_ns", "per_second") == "true");
  BOOST_TEST(json_member(rows, "web", "heap", "value") == "7");
  BOOST_TEST(json_member(rows, "web", "heap", "per_second") == "false");
  BOOST_TEST(json_member(rows, "web", "stats", "value") == R"({"hits":2,"size":6})");
  BOOST_TEST(json_member(rows, "web", "stats", "per_second") == "true");
  const std::vector<std::string> files{"runs"};
  const std::string text =
      format_report_text(report, files, get_default_columns(ReportKind::Show), {});
  BOOST_TEST(text.find("20.00ns/s") != text.npos);
  BOOST_TEST(text.find("3 of 1.0 s to 4.0 s") != text.npos);
  const std::string lines = report_csv(report);
  BOOST_TEST(lines.find("web,stats,size,bytes,false,6,") != lines.npos);
  BOOST_TEST(lines.find("web,stats,hits,count,true,2,") != lines.npos);
}

BOOST_AUTO_TEST_CASE(a_single_window_shows_totals) {
  std::vector<Snapshot> runs;
  runs.push_back(window_of(2, {{"web", 60, 9}}));
  const json::value report = report_json(report_of(runs, {{1}}));
  BOOST_TEST(json_member(report, "web", "run_time_ns", "value") == "60");
  BOOST_TEST(json_member(report, "web", "run_time_ns", "per_second") == "false");
}

BOOST_AUTO_TEST_CASE(compares_two_windows_by_their_rates) {
  std::vector<Snapshot> runs;
  runs.push_back(window_of(1, {{"web", 10, 5}, {"db", 40, 1}}));
  runs.push_back(window_of(4, {{"web", 80, 7}, {"db", 160, 1}}));
  const Report report =
      report_of(runs, {{1, 1}, "run_time_ns.pct > 50 || run_time_ns.candidate > 39"});
  const json::value rows = report_json(report);
  BOOST_TEST(json_member(rows, "web", "run_time_ns", "baseline") == "10");
  BOOST_TEST(json_member(rows, "web", "run_time_ns", "candidate") == "20");
  BOOST_TEST(json_member(rows, "web", "run_time_ns", "delta") == "10");
  BOOST_TEST(json_member(rows, "web", "run_time_ns", "pct") == "1");
  BOOST_TEST(json_member(rows, "db", "run_time_ns", "delta") == "0");
  BOOST_TEST(json_member(rows, "web", "heap", "delta") == "2");
  BOOST_TEST(json_member(rows, "web", "run_time_ns", "threads_alive") == "null");
  BOOST_TEST(json_member(rows, "web", "run_time_ns", "pct", "failed") == "1");
  BOOST_TEST(json_member(rows, "db", "run_time_ns", "pct", "failed") == "0");
  BOOST_TEST(rows.at("failed").as_array().size() == 2u);
}

BOOST_AUTO_TEST_CASE(compares_each_side_with_the_first) {
  std::vector<Snapshot> runs;
  for (const std::uint64_t run : {10, 20, 90, 30, 50, 60, 70})
    runs.push_back(window_of(1, {{"web", run, run}}));
  const json::value rows = report_json(report_of(runs, {{3, 3, 1}}));
  BOOST_TEST(json_member(rows, "web", "run_time_ns", "baseline") == "20");
  BOOST_TEST(json_member(rows, "web", "run_time_ns", "candidate") == "50");
  BOOST_TEST(json_member(rows, "web", "run_time_ns", "delta_2") == "50");
  BOOST_TEST(json_member(rows, "web", "run_time_ns", "runs_candidate") == "3");
  BOOST_TEST(json_member(rows, "web", "run_time_ns", "runs_candidate_2") == "1");
}

BOOST_AUTO_TEST_CASE(a_window_without_length_has_no_rates) {
  std::vector<Snapshot> runs;
  runs.push_back(window_of(0, {{"web", 10, 5}}));
  runs.push_back(window_of(1, {{"web", 10, 5}}));
  const json::value rows = report_json(report_of(runs, {{1, 1}}));
  BOOST_TEST(json_member(rows, "web", "run_time_ns", "baseline") == "null");
  BOOST_TEST(json_member(rows, "web", "run_time_ns", "pct") == "null");
  BOOST_TEST(json_member(rows, "web", "heap", "baseline") == "5");
}

BOOST_AUTO_TEST_CASE(fail_on_uses_the_shown_values) {
  std::vector<Snapshot> runs;
  runs.push_back(window_of(2, {{"web", 60, 9}, {"db", 20, 1}}));
  const Report report = report_of(runs, {{1}, "run_time_ns > 50 && threads == 1"});
  BOOST_REQUIRE(report.fail_on_section().rows.size() == 1u);
  BOOST_TEST(json_member(report_json(report), "web", "run_time_ns", "value", "failed") == "60");
  BOOST_TEST(report_csv(report).find("web,run_time_ns,,ns,60,") != std::string::npos);
  const auto conditions = parse_fail_on("run_time_ns.pct > 5", false);
  BOOST_REQUIRE(!conditions);
  BOOST_TEST(
      conditions.error().text.ends_with("'run_time_ns.pct' needs two sides; show accepts only the "
                                        "name of the metric"));
}

BOOST_AUTO_TEST_CASE(where_counts_the_threads_of_all_runs) {
  const auto runs = runs_of({{{"web", 10, 5}, {"db", 1, 1}}, {{"web", 70, 1}}});
  const Report report = report_of(runs, {{2}, "", "run_time_ns > 5"});
  BOOST_REQUIRE(report.notes().size() == 1u);
  BOOST_TEST(report.notes().front() == "--where keeps 2 of 3 threads");
}

// The sums of a recorder cover 1 s of windows of 2 and 4 s.
BOOST_AUTO_TEST_CASE(rates_of_sums_use_the_covered_time) {
  std::vector<Snapshot> runs;
  for (const std::uint64_t seconds : {2, 4}) {
    Snapshot& run = runs.emplace_back(window_of(seconds, {{"web", 60, 9}}));
    MetricDef waits = metric("waits_ns", "MonotonicNs", "SumNs");
    waits.covers_window = true;
    add_u64(run, waits, {30}).provenance = {"sums", "sums", Gap::None, ""};
    run.meta.stacks = {{.plugin = "sums", .source = "sums", .covered_ns = kSecond}};
  }
  const json::value report = report_json(report_of(runs, {{1, 1}}));
  BOOST_TEST(json_member(report, "web", "waits_ns", "baseline") == "30");
  BOOST_TEST(json_member(report, "web", "waits_ns", "candidate") == "30");
  BOOST_TEST(json_member(report, "web", "run_time_ns", "candidate") == "15");
}

// Counters of snapshots of different boots are also shown per second of lifetime.
BOOST_AUTO_TEST_CASE(lifetimes_have_rates) {
  std::vector<Snapshot> runs = runs_of({{{"web", 60, 1}}, {{"web", 60, 1}}});
  for (std::size_t run = 0; run < 2; ++run) {
    add_u64(runs[run], identity_metric(kStartTime), {500});
    runs[run].meta.boot_id = std::to_string(run);
    runs[run].meta.start.boottime_ns = (7 + run) * kSecond;
  }
  const json::value rows = report_json(report_of(runs, {{1, 1}}));
  BOOST_TEST(json_member(rows, "web", "run_time_ns", "per_life_baseline") == "30");
  BOOST_TEST(json_member(rows, "web", "run_time_ns", "per_life_candidate") == "20");
  BOOST_TEST(json_member(rows, "web", "heap", "per_life_candidate") == "null");
  runs[1].meta.boot_id = "0";
  BOOST_TEST(json_member(report_json(report_of(runs, {{1, 1}})), "web", "run_time_ns",
                         "per_life_baseline") == "null");
}

// 40 in 20 s; divided by the mean age of 10.5 s, it would exceed the capacity of two CPUs.
BOOST_AUTO_TEST_CASE(rates_of_lifetimes_use_the_age_of_the_oldest_thread) {
  std::vector<Snapshot> runs =
      runs_of({{{"web", 39, 1}, {"web", 1, 1}, {"db", 0, 1}}, {{"web", 60, 1}}});
  add_u64(runs[0], identity_metric(kStartTime), {500, 2400, {}});
  add_u64(runs[1], identity_metric(kStartTime), {500});
  for (std::size_t run = 0; run < 2; ++run) {
    runs[run].meta.boot_id = std::to_string(run);
    runs[run].meta.start.boottime_ns = 20 * kSecond;
    runs[run].meta.end.boottime_ns = 25 * kSecond;  // when the last thread was read
  }
  const json::value rows = report_json(report_of(runs, {{1, 1}}));
  BOOST_TEST(json_member(rows, "web", "run_time_ns", "per_life_baseline") == "2");
  BOOST_TEST(json_member(rows, "web", "run_time_ns", "per_life_candidate") == "3");
  BOOST_TEST(json_member(rows, "db", "run_time_ns", "per_life_baseline") != "0");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::sides_test
