// Tests medians of sides with several runs: an even number of runs, and groups that some runs lack.

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "core/compare/report/screen.hpp"
#include "core/render/report_text.hpp"
#include "tests/unit/support/test_sides.hpp"

namespace ctprof::side_medians_test {
namespace {

using namespace test_sides;

BOOST_AUTO_TEST_SUITE(side_medians_test)

BOOST_AUTO_TEST_CASE(the_median_of_an_even_number_is_the_mean_of_the_middle_two) {
  ScreenMedians medians;
  medians.add(std::vector<ScreenThreads>{{.living = 3}, {.living = 1, .exited = 1}});
  medians.add(std::vector<ScreenThreads>{{.living = 4}, {}});
  const auto threads = std::move(medians).compute(2);
  BOOST_TEST(threads[0].living == 3.5);
  BOOST_TEST(threads[1].living == 0.5);
  BOOST_TEST(threads[1].total() == 1);
  BOOST_TEST(median_count({4, 1, 2, 9}) == 3);
  BOOST_TEST(median_count({4, 1, 9}) == 4);
}

// Returns a process with a thread `main` and threads of another name, which have no process row.
Snapshot run_with(const std::string& name, const std::vector<std::uint64_t>& run_times) {
  std::vector<Thread> threads{{1, 1, "web", "main"}};
  Cells<std::uint64_t> runs{7};
  for (const std::uint64_t run_time : run_times) {
    threads.push_back({1, 1 + threads.size(), "web", name});
    runs.push_back(run_time);
  }
  Snapshot snapshot = snapshot_of(threads);
  add_u64(snapshot, kRun, runs);
  return snapshot;
}

BOOST_AUTO_TEST_CASE(every_output_has_a_group_of_half_of_the_runs) {
  std::vector<Snapshot> runs;
  for (const std::vector<std::uint64_t>& worker :
       {std::vector<std::uint64_t>{10}, {}, {30}, {}, {}, {60}, {20}, {}})
    runs.push_back(run_with("worker", worker));
  const Report report = report_of(runs, {.sizes = {4, 4}, .by = GroupBy::Comm});
  const json::value rows = report_json(report);
  BOOST_TEST(json_member(rows, "worker", "run_time_ns", "baseline") == "5");
  BOOST_TEST(json_member(rows, "worker", "run_time_ns", "candidate") == "10");
  BOOST_TEST(json_member(rows, "worker", "run_time_ns", "threads_candidate") == "5E-1");
  BOOST_TEST(report_csv(report).find("worker,run_time_ns,,ns,5,10,") != std::string::npos);
  const std::vector<std::string> files{"a", "b"};
  const auto columns = get_default_columns(ReportKind::Compare);
  BOOST_TEST(format_report_text(report, files, columns, {}).find("worker") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(every_output_has_a_group_of_few_runs_of_one_side) {
  std::vector<Snapshot> runs;
  for (const std::vector<std::uint64_t>& worker :
       {std::vector<std::uint64_t>{}, {}, {}, {9}, {8}, {}})
    runs.push_back(run_with("worker", worker));
  const Report report = report_of(runs, {.sizes = {3, 3}, .by = GroupBy::Comm});
  BOOST_REQUIRE(report.one_sided_groups(1).groups.size() == 1u);
  BOOST_TEST(report.grouping().names[report.one_sided_groups(1).groups[0]] == "worker");
}

// The thread count of a host metric is a median of all runs, too.
BOOST_AUTO_TEST_CASE(thread_counts_of_host_metrics_are_medians) {
  std::vector<Snapshot> runs;
  for (const std::size_t threads : {1, 4, 2}) {
    runs.push_back(run_with("worker", std::vector<std::uint64_t>(threads)));
    runs.back().table(Entity::Host).rows = 1;
    add_u64(runs.back(), metric("busy", "MonotonicNs", "SumNs", Entity::Host), {threads});
  }
  BOOST_TEST(json_member(report_json(report_of(runs, {{3}})), "host", "busy", "threads") == "3");
}

// A group without applicable rows counts like an absent group.
BOOST_AUTO_TEST_CASE(a_run_without_applicable_rows_counts_as_zero) {
  auto runs = runs_of({{{"web", 1, 8}}, {{"web", 1, {}}}, {{"web", 1, 2}}});
  const auto not_applicable = static_cast<ctprof_gap>(Gap::NotApplicable);
  runs[1].threads().find("heap")->gaps()[0] = not_applicable;
  BOOST_TEST(json_member(report_json(report_of(runs, {{3}})), "web", "heap", "value") == "2");
  runs[0].threads().find("heap")->gaps()[0] = not_applicable;
  runs[2].threads().find("heap")->gaps()[0] = not_applicable;
  runs.push_back(run_of({{"db", 1, 5}}));
  BOOST_TEST(json_member(report_json(report_of(runs, {{4}})), "web", "heap", "value") == "no row");
}

BOOST_AUTO_TEST_CASE(a_run_without_the_group_counts_as_zero_for_each_map_key) {
  const auto runs = runs_of({{{"web", 1, 1, "O", 0, {{"hits", 4}, {"size", 8}}}},
                             {{"db", 1, 1}},
                             {{"web", 1, 1, "O", 0, {{"hits", 6}, {"size", 2}}}},
                             {{"db", 1, 1}}});
  BOOST_TEST(json_member(report_json(report_of(runs, {{4}})), "web", "stats", "value") ==
             R"({"hits":2,"size":5})");
  Spec spec;
  spec.side_sizes = {4};
  spec.metrics = {"stats[hits]", "stats[size]"};
  const Snapshot* const all[] = {&runs[0], &runs[1], &runs[2], &runs[3]};
  const auto named = Report::make(all, spec, {&kRuleSet, {}});
  BOOST_REQUIRE(named);
  BOOST_TEST(json_member(report_json(*named), "web", "stats[hits]", "value") == "2");
  BOOST_TEST(json_member(report_json(*named), "web", "stats[size]", "value") == "5");
}

// The values that are shown and those that are tested come from the same runs.
BOOST_AUTO_TEST_CASE(every_value_is_the_median_of_its_runs) {
  for (std::size_t size = 2; size <= 6; ++size) {
    std::vector<Snapshot> runs;
    for (std::size_t run = 0; run < 2 * size; ++run) {
      std::vector<ProcessValues> processes;
      for (std::size_t group = 0; group < 8; ++group)
        if ((run * 7 + group * 5 + size) % 3 != 0)
          processes.push_back({"g" + std::string(1, static_cast<char>('a' + group)),
                               run * 11 + group, (run + group) % 4 ? run * group : 3});
      runs.push_back(run_of(processes));
    }
    const Report report = report_of(runs, {{size, size}});
    for (std::uint32_t group = 0; group < report.grouping().names.size(); ++group)
      for (std::size_t metric = 0; metric < report.metrics().size(); ++metric)
        for (std::size_t side = 0; report.metrics()[metric].is_sum && side < 2; ++side) {
          const CellPosition at{side, group, metric};
          std::vector<double> numbers = report.rollup().run_numbers(at);
          if (!report.grouping().has_group(side, group)) continue;
          BOOST_TEST(as_double(report.rollup().read(at).number) ==
                     median_count(std::move(numbers)));
        }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::side_medians_test
