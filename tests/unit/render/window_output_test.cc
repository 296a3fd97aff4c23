// Tests the output of a window: blocked time, accounting, and the heading.

#include <boost/test/unit_test.hpp>
#include <string>

#include "core/compare/figures/run_facts.hpp"
#include "core/render/window_text.hpp"
#include "core/window/accounting.hpp"
#include "tests/unit/render/window_report.hpp"

namespace ctprof::window_output_test {
namespace {

using namespace window_report;

BOOST_AUTO_TEST_SUITE(window_output_test)

BOOST_AUTO_TEST_CASE(blocked_time_is_the_time_without_running_or_waiting) {
  const Snapshot window_snapshot = WindowEnds().window();
  const Column* blocked = window_snapshot.threads().find("blocked_time_ns");
  BOOST_REQUIRE(blocked);
  BOOST_TEST(blocked->u64()[0] == 7 * kSecond);
  BOOST_TEST(blocked->u64()[1] == 4500 * kMs + 1);  // started at 15 s
  BOOST_CHECK(blocked->gap(2) == Gap::NoBase);
  BOOST_TEST(blocked->u64()[3] == 2 * kSecond - 1);  // exited at 18 s, ran for 5 s
  const auto report = report_of(window_snapshot, {.metrics = {"blocked_share"}});
  BOOST_REQUIRE(!report.sections().empty());
}

BOOST_AUTO_TEST_CASE(blocked_time_is_not_negative_and_needs_reading_times) {
  WindowEnds ends;
  for (Column& column : ends.after.threads().columns)
    if (column.def().name == "run") column.u64()[0] = 100 * kSecond;
  BOOST_TEST(ends.window().threads().find("blocked_time_ns")->u64()[0] == 0u);
  WindowEnds without_reading_times;
  without_reading_times.before.read_at.clear();
  BOOST_TEST(!without_reading_times.window().threads().find("blocked_time_ns"));
}

BOOST_AUTO_TEST_CASE(divides_busy_time_into_rows_and_unaccounted_time) {
  WindowEnds ends;
  ends.add_host();
  const auto cpu = compute_accounting(ends.window());
  BOOST_REQUIRE(cpu);
  BOOST_TEST(cpu->cpus == 2u);
  BOOST_TEST(cpu->wall == 10.0 * kSecond);
  BOOST_TEST(cpu->busy == 8.5 * kSecond);
  BOOST_TEST(cpu->living == 2.5 * kSecond);
  BOOST_TEST(cpu->exited == 5.0 * kSecond);
  BOOST_TEST(cpu->unaccounted == 1.0 * kSecond);
  BOOST_TEST(cpu->max_error == 0.2 * kSecond);
  BOOST_TEST(!cpu->is_steal_separate);
}

BOOST_AUTO_TEST_CASE(separate_steal_time_is_not_busy_time) {
  WindowEnds ends;
  ends.add_host();
  add_bool(ends.before, kStealSeparate, {true});
  add_bool(ends.after, kStealSeparate, {true});
  const auto cpu = compute_accounting(ends.window());
  BOOST_REQUIRE(cpu);
  BOOST_TEST(cpu->is_steal_separate);
  BOOST_TEST(cpu->busy == 8.3 * kSecond, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(has_no_accounting_without_host_metrics) {
  BOOST_TEST(!compute_accounting(WindowEnds().window()));
}

BOOST_AUTO_TEST_CASE(shares_use_the_time_between_the_readings_of_a_thread) {
  WindowEnds ends;
  ends.add_host();
  ends.after.read_at.assign(3, 10 * kSecond);  // threads were read 10 s after the host
  const auto cpu = compute_accounting(ends.window());
  BOOST_REQUIRE(cpu);
  BOOST_TEST(cpu->living == 1.25 * kSecond, boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(counts_all_threads_of_merged_rows) {
  WindowEnds ends;
  add_u64(ends.ended.rows, identity_metric(kThreads), {7});
  const std::string text = text_of(ends.window(), {.metrics = {"thread_count"}});
  BOOST_TEST(text.find("threads 3 → 3, +1 -7") == text.npos);  // an existing thread
  BOOST_TEST(text.find("+1 -7") != text.npos, text);
  BOOST_TEST(text.find("job          8  thread_count      8\n") != text.npos, text);
}

BOOST_AUTO_TEST_CASE(counts_rows_without_a_base) {
  WindowEnds ends;
  ends.before.threads().find("state")->ids()[0] = ends.before.pools->texts.intern("R");
  add_u64(ends.after, kCostly, {1, 2, 3});
  const WindowRows rows = count_rows(ends.window());
  BOOST_TEST(rows.before == 3u);
  BOOST_TEST(rows.after == 3u);
  BOOST_TEST(rows.started == 1u);
  BOOST_TEST(rows.exited == 1u);
  BOOST_TEST(rows.in_progress == 1u);
  BOOST_TEST(rows.not_in_opening == 1u);
  BOOST_TEST(rows.metrics_not_in_opening.size() == 1u);
}

BOOST_AUTO_TEST_CASE(the_heading_shows_thread_counts_and_accounting) {
  WindowEnds ends;
  ends.add_host();
  BOOST_TEST(text_of(ends.window(), {.metrics = {"run"}}) ==
             "run.zst   10.0 s   2 CPUs   threads 3 → 3, +1 -1\nCPU 85 % of 200 %: 25 % by living "
             "threads, 50 % by exited threads, 10 % unaccounted (±2 %); including 2 % taken by the "
             "hypervisor\niowait 5.0 %\nrecorded on box until 2026-07-31 12:00:20Z\nno differences "
             "for 1 thread, not read when the window opened\n\n## primary\ngroup  threads  metric  "
             " value  readings\njob          2  run     5.500s\nweb          1  run     "
             "2.000s\nold          1  run          -       0/1\n");
}

BOOST_AUTO_TEST_CASE(wraps_the_heading_on_a_narrow_screen) {
  WindowEnds ends;
  ends.add_host();
  const std::string text = text_of(ends.window(), {.metrics = {"run"}}, 60);
  for (std::size_t from = 0, to; from < text.size(); from = to + 1) {
    to = text.find('\n', from);
    BOOST_TEST(get_display_width(text.substr(from, to - from)) <= 60u);
  }
}

RunFacts counted_run(double busy, double unexplained) {
  RunFacts run;
  run.window.emplace();
  run.window->accounting.emplace();
  Accounting& cpu = *run.window->accounting;
  cpu.cpus = 2;
  cpu.wall = 100;
  cpu.busy = busy;
  cpu.unaccounted = unexplained;
  cpu.max_error = 2;
  return run;
}

BOOST_AUTO_TEST_CASE(summarizes_accounted_runs_together) {
  const std::vector<RunFacts> runs{counted_run(180, 1), counted_run(199, -2), counted_run(150, 3)};
  BOOST_TEST(is_accounted(runs[1]));
  BOOST_TEST(!is_accounted(runs[2]));
  BOOST_TEST(format_accounted_runs(runs, "baseline", 0) ==
             "baseline: CPU 180 to 199 % of 200 %, accounted for by threads in 2 of 3 runs\n");
  BOOST_TEST(format_accounted_runs(std::span(runs).first(2), "run", 0) ==
             "run: CPU 180 to 199 % of 200 %, accounted for by threads in all 2 runs\n");
  BOOST_TEST(format_accounted_runs(std::span(runs).last(1), "run", 0) == "");
  BOOST_TEST(format_window_summary(runs[0], "run 1", 0, false) == "");
  BOOST_TEST(format_window_summary(runs[2], "run 3", 0).starts_with("run 3: CPU 150 % of 200 %: "));
}

BOOST_AUTO_TEST_CASE(reports_denied_metrics_in_one_sentence) {
  RunFacts run = counted_run(100, 50);
  run.window->rows.not_in_opening = 1;
  run.window->rows.in_progress = 10;
  BOOST_TEST(list_window_remarks(run).size() == 2u);
  run.window->denied_metrics = 36;
  const std::vector<std::string> expected{
      "no permission to read: exited threads, 36 metrics, times of 10 threads that ran when the "
      "window opened or closed; see `ctprof doctor` on that host",
      "no differences for 1 thread, not read when the window opened"};
  BOOST_TEST(list_window_remarks(run) == expected);
  BOOST_TEST(format_window_summary(run, "run 1", 0, false) ==
             "run 1: " + expected[0] + "\nrun 1: " + expected[1] + "\n");
  run.window->records_exits = true;
  BOOST_TEST(list_window_remarks(run).size() == 2u);
}

BOOST_AUTO_TEST_CASE(unaccounted_time_mentions_unreported_exits) {
  RunFacts run = counted_run(100, 50);
  BOOST_TEST(format_window_summary(run, "run 1", 0) ==
             "run 1: CPU 100 % of 200 %: 0 % by living threads, 50 % unaccounted (±2 %), "
             "including exited threads\n");
  run.window->accounting->unaccounted = 2;  // less than the error
  BOOST_TEST(format_window_summary(run, "run 1", 0).find("exited") == std::string::npos);
  run.window->accounting->unaccounted = 50;
  run.window->records_exits = true;
  BOOST_TEST(format_window_summary(run, "run 1", 0).find("included") == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::window_output_test
