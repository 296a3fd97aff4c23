// Tests stacks in reports: weights of functions, matching of runs and builds, and changes.

#include <boost/test/unit_test.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/compare/request/expressions.hpp"
#include "core/page/report_page.hpp"
#include "core/render/stacks_text.hpp"
#include "tests/unit/support/stack_reports.hpp"

namespace ctprof::stacks_compare_test {
namespace {

using namespace hand_made;

BOOST_AUTO_TEST_SUITE(stacks_compare_test)

// --- functions
// -------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_stack_counts_as_self_for_its_leaf_and_once_as_total_for_each_function) {
  const Snapshot snapshot = window_of({{"a",
                                        {{{"p:f", "p:g", "p:f", "p:main"}, 10},
                                         {{"p:f", "p:f", "p:f"}, 3},
                                         {{"p:g", "p:main"}, 5},
                                         {{"p:main"}, 1}}}});
  const Report report = report_of({&snapshot});
  const StackGroup group = first_group(report);
  BOOST_TEST(weights_of(report, group, "f (p)") == "13 13");
  BOOST_TEST(weights_of(report, group, "g (p)") == "5 15");
  BOOST_TEST(weights_of(report, group, "main (p)") == "1 16");
  BOOST_TEST(group.weights[0] == 19);
  BOOST_TEST(name_of(report, group.functions[0]) == "f (p)");
}

BOOST_AUTO_TEST_CASE(keeps_truncated_guessed_and_unnamed_frames) {
  const Snapshot snapshot = window_of({{"a",
                                        {{{"p:f", "?p:g"}, 2, WalkEnd::EndOfCopy},
                                         {{"p+4660", "p:main"}, 7},
                                         {{"p+4661", "p:main"}, 1}}}});
  const Report report = report_of({&snapshot});
  const StackGroup group = first_group(report);
  BOOST_TEST(weights_of(report, group, "[truncated]") == "0 2");
  BOOST_TEST(weights_of(report, group, "g (guessed) (p)") == "0 2");
  BOOST_TEST(weights_of(report, group, "p+0x1234") == "7 7");
  BOOST_TEST(weights_of(report, group, "p+0x1235") == "1 1");
  const CommonStacks& stacks = report.stacks()->common_stacks();
  BOOST_TEST(format_stack(stacks, group.stacks[1].stack, 0) == "f ← g (guessed) ← [truncated]");
}

// A frame that some walk found by unwind rules is not a guess, even if another walk guessed it.
BOOST_AUTO_TEST_CASE(a_frame_found_by_rules_is_not_guessed) {
  const Snapshot snapshot = window_of({{"a",
                                        {{{"p:f", "?p:g", "?p:main"}, 2},
                                         {{"p:g", "p:main"}, 1},
                                         {{"p:h", "?p:g", "?p:start"}, 1}}}});
  const Report report = report_of({&snapshot});
  const StackGroup group = first_group(report);
  BOOST_TEST(weights_of(report, group, "g (p)") == "1 4");
  BOOST_TEST(weights_of(report, group, "start (guessed) (p)") == "0 1");
  const CommonStacks& stacks = report.stacks()->common_stacks();
  BOOST_TEST(format_stack(stacks, group.stacks[0].stack, 0) == "f ← g ← main");
  BOOST_TEST(format_stack(stacks, group.stacks[2].stack, 0) == "h ← g (guessed) ← start (guessed)");
}

BOOST_AUTO_TEST_CASE(shortens_a_long_stack_to_the_line) {
  const Snapshot snapshot = window_of({{"a", {{{"p:leaf", "p:b", "p:c", "p:d", "p:main"}, 2}}}});
  const Report report = report_of({&snapshot});
  const std::uint32_t stack = first_group(report).stacks[0].stack;
  const CommonStacks& stacks = report.stacks()->common_stacks();
  BOOST_TEST(format_stack(stacks, stack, 0) == "leaf ← b ← c ← d ← main");
  BOOST_TEST(format_stack(stacks, stack, 23) == "leaf ← b ← c ← d ← main");
  BOOST_TEST(format_stack(stacks, stack, 22) == "leaf ← b ← … (3 more)");
  BOOST_TEST(format_stack(stacks, stack, 1) == "leaf ← … (4 more)");
}

// --- runs, builds, hosts
// ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(matches_builds_by_function_and_unnamed_code_by_build_id_and_offset) {
  const NamedStacks stacks{{{"p:f", "p:main"}, 10 * kMs}, {{"p+77", "p:main"}, kMs}};
  const Snapshot before = window_of({{"a", stacks}}),
                 same = window_of({{"a", stacks}}, 10, {0, "id", "/usr/bin/"}),
                 other = window_of({{"a", stacks}}, 10, {500000, "new", "/opt/"});
  const Report alike = report_of({&before, &same});
  BOOST_TEST(first_group(alike).functions.size() == 3u);
  const Report rebuilt = report_of({&before, &other});
  const StackGroup group = first_group(rebuilt);
  BOOST_TEST(group.functions.size() == 4u);
  for (const std::size_t side : {0, 1})
    BOOST_TEST(weights_of(rebuilt, group, "f (p)", side) == "1000000 1000000");
  BOOST_TEST(group.functions[0].sides[0].self + group.functions[1].sides[0].self == 1e5);
  BOOST_TEST(group.functions[0].sides[0].self * group.functions[1].sides[0].self == 0);
}

// The windows differ in length. Per second, f takes 30 % more time and the others as much as
// before; their weights are larger than that of f.
BOOST_AUTO_TEST_CASE(a_slower_function_is_the_first_row) {
  const auto of = [](std::uint64_t f, std::uint64_t times) {
    return std::vector<std::pair<std::string, NamedStacks>>{
        {"a",
         {{{"p:f", "p:main"}, f * times * kMs},
          {{"p:g", "p:f", "p:main"}, 300 * times * kMs},
          {{"p:h", "p:main"}, 650 * times * kMs}}},
        {"big", {{{"q:loop"}, 5000 * times * kMs}}}};
  };
  const Snapshot before = window_of(of(100, 10)), after = window_of(of(130, 20), 20);
  const Report report = report_of({&before, &after});
  const StackGroup group = first_group(report);
  BOOST_TEST(report.grouping().names[group.at.group] == "a");
  BOOST_TEST(name_of(report, group.functions[0]) == "f (p)");
  BOOST_TEST(weights_of(report, group, "f (p)", 0) == "100000000 400000000");
  BOOST_TEST(weights_of(report, group, "f (p)", 1) == "130000000 430000000");
  BOOST_TEST(largest_change(figures(group.functions[0], &FunctionWeight::self)) == 30e6);
  BOOST_TEST(name_of(report, group.functions[1]) == "main (p)");
  const Report turned = report_of({&after, &before});
  BOOST_TEST(largest_change(figures(first_group(turned).functions[0], &FunctionWeight::self)) ==
             -30e6);
}

BOOST_AUTO_TEST_CASE(values_of_several_runs_are_medians) {
  std::vector<Snapshot> runs;
  for (const std::uint64_t f : {10, 90, 30})
    runs.push_back(window_of(
        {{"a",
          {{{"p:f"}, f * 10 * kMs}, {{"p:g"}, 500 * kMs}, {{"p:" + std::to_string(f)}, kMs}}}}));
  runs.push_back(window_of({{"a", {{{"p:g"}, 500 * kMs}}}}));
  runs.push_back(window_of({{"b", {{{"p:g"}, 500 * kMs}}}}));
  std::vector<const Snapshot*> all;
  for (const Snapshot& run : runs) all.push_back(&run);
  const Report report = report_of(all, {.side_sizes = {3, 2}});
  const StackGroup group = first_group(report);
  BOOST_TEST(weights_of(report, group, "f (p)", 0) == "30000000 30000000");
  BOOST_TEST(weights_of(report, group, "f (p)", 1) == "0 0");
  BOOST_TEST(weights_of(report, group, "g (p)", 0) == "50000000 50000000");
  BOOST_TEST(weights_of(report, group, "g (p)", 1) == "25000000 25000000");  // one run lacks it
  BOOST_TEST(weights_of(report, group, "30 (p)") == "-");  // zero in the median of the runs
  BOOST_TEST(group.weights[0] == 80.1e6);
}

// Values remain available after the runs are destroyed.
BOOST_AUTO_TEST_CASE(a_report_needs_no_snapshots) {
  auto snapshot = std::make_unique<Snapshot>(window_of({{"a", {{{"p:f", "p:main"}, 3}}}}));
  const Report report = report_of({snapshot.get()});
  snapshot.reset();
  BOOST_TEST(weights_of(report, first_group(report), "f (p)") == "3 3");
}

BOOST_AUTO_TEST_CASE(a_metric_that_one_side_lacks_is_not_a_change) {
  const std::vector<std::pair<std::string, NamedStacks>> both{{"a", {{{"p:f"}, 9 * kMs}}},
                                                              {"b", {{{"p:g"}, 3 * kMs}}}};
  const Snapshot before = window_of(both);
  Snapshot after = window_of(both);
  after.threads().find("on")->gaps()[0] = static_cast<ctprof_gap>(Gap::ThreadGone);
  const Report report_with_gap = report_of({&before, &after});
  const StackGroup group = first_group(report_with_gap);
  BOOST_TEST(group.functions[0].sides[0].self == 9e5);
  BOOST_TEST(std::isnan(group.functions[0].sides[1].self));
  BOOST_TEST(largest_change(figures(group.functions[0], &FunctionWeight::self)) == 0);
  const Snapshot without_a = window_of({{"b", {{{"p:g"}, 3 * kMs}}}});
  const StackGroup first = first_group(report_of({&before, &without_a}));
  BOOST_TEST(largest_change(figures(first.functions[0], &FunctionWeight::self)) == -9e5);
  after.threads().find("on")->gaps()[1] = static_cast<ctprof_gap>(Gap::ThreadGone);
  const Report none = report_of({&before, &after});
  BOOST_TEST(none.stacks()->groups().empty());
  BOOST_TEST(contains(none.notes().back(), "the stacks of 'on' are omitted"));
}

// --- conditions
// ------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(totals_can_be_used_in_conditions) {
  const Snapshot snapshot =
      window_of({{"a", {{{"p:f"}, 9}}}, {"a", {{{"p:f"}, 2}}}, {"b", {{{"p:f"}, 10}}}});
  WhereConditions where;
  BOOST_REQUIRE(add_condition(where, "on > 5"));
  const Report of_threads = report_of({&snapshot}, {.where = where});
  BOOST_TEST(total_of(of_threads) == 9);
  auto fails = parse_fail_on("on > 10", false);
  BOOST_REQUIRE(fails);
  std::vector<Condition> conditions;
  conditions.push_back(std::move(*fails));
  const Report failed = report_of({&snapshot}, {.fail_on = std::move(conditions)});
  BOOST_REQUIRE_EQUAL(failed.fail_on_section().rows.size(), 1u);
  BOOST_TEST(failed.grouping().names[failed.fail_on_section().rows[0].group] == "a");
}

BOOST_AUTO_TEST_CASE(the_busiest_thread_is_the_one_with_the_heaviest_stacks) {
  const Snapshot snapshot = window_of({{"a", {{{"p:f"}, 9}}}, {"a", {{{"p:f"}, 5}, {{"p:g"}, 5}}}});
  const Report report = report_of({&snapshot});
  const RowPosition at = report.stacks()->groups()[0];
  const BusiestThread* busiest = report.rollup().get_busiest_thread({0, at.group, at.metric});
  BOOST_REQUIRE(busiest);
  BOOST_TEST((busiest->tid == 2 && busiest->reading == 10));
}

BOOST_AUTO_TEST_CASE(shows_only_the_stacks_section_on_request) {
  Snapshot snapshot = window_of({{"a", {{{"p:f"}, 9}}}});
  add_u64(snapshot, metric("run", "MonotonicNs", "SumNs"), {1});
  const Report report = report_of({&snapshot}, {.sections = {"stacks"}});
  for (const PlannedMetric& metric : report.metrics())
    BOOST_TEST(metric.is_shown == (metric.name == "on"));
  BOOST_TEST(!report_of({&snapshot}, {.metrics = {"run"}}).stacks());
}

BOOST_AUTO_TEST_CASE(the_limit_applies_to_groups_functions_and_stacks) {
  const NamedStacks stacks{{{"p:f", "p:main"}, 9}, {{"p:g", "p:main"}, 5}};
  const Snapshot snapshot = window_of({{"a", stacks}, {"b", stacks}, {"b", stacks}});
  const Report report = report_of({&snapshot}, {.limit = 1});
  BOOST_TEST(report.stacks()->groups().size() == 1u);
  BOOST_TEST(report.stacks()->groups_over_limit() == 1u);
  const StackGroup group = first_group(report);
  BOOST_TEST(report.grouping().names[group.at.group] == "b");
  BOOST_TEST((group.functions.size() == 1 && group.functions_over_limit == 2));
  BOOST_TEST((group.stacks.size() == 1 && group.stacks_over_limit == 1));
}

// A small file with a long chain of calls at whose end are thousands of rows.
BOOST_AUTO_TEST_CASE(work_is_proportional_to_the_size_of_files) {
  NamedStack deep{{}, 1};
  for (int i = 0; i < 100'000; ++i) deep.frames.push_back("p+" + std::to_string(i % 2));
  std::vector<std::pair<std::string, NamedStacks>> threads;
  for (int i = 0; i < 2000; ++i)
    threads.push_back({std::string(1 + i / 26, 'x') + char('a' + i % 26), {}});
  Snapshot snapshot = window_of(threads);
  std::vector<ctprof_stack> end{{add_stack(snapshot.pools->stacks.table, deep, {}), 1}};
  Column& column = *snapshot.threads().find("on");
  for (std::size_t row = 0; row < threads.size(); ++row)
    column.ids()[row] = snapshot.pools->stacks.append(end);
  snapshot.text_bytes = 400'000;
  const Report report = report_of({&snapshot}, {.literal_names = true});
  BOOST_TEST(report.stacks()->groups_over_allowance() > 1000u);
  BOOST_TEST(report.stacks()->groups().size() > 100u);
  BOOST_REQUIRE(!report.notes().empty());
  BOOST_TEST(contains(report.notes().back(), "are left out"));
}

// Returns runs of a group. One function has a larger weight in the second half of the runs, one
// only varies, and one is too small to be tested.
std::vector<Snapshot> make_differing_runs() {
  std::vector<Snapshot> runs;
  for (std::uint64_t run = 0; run < 8; ++run) {
    const std::uint64_t slower = run < 4 ? 0 : 30 * kMs, varies = (run * 5) % 8 * kMs;
    runs.push_back(window_of({{"service",
                               {{{"bin:render", "bin:main"}, 100 * kMs + slower + run * 10'000},
                                {{"bin:parse", "bin:main"}, 60 * kMs + varies},
                                {{"bin:rare", "bin:main"}, 20'000 * (run + 1)}}}}));
  }
  return runs;
}

StackGroup compare_runs(const std::vector<Snapshot>& runs, std::optional<Report>& report,
                        bool by_share = false) {
  std::vector<const Snapshot*> pointers;
  for (const Snapshot& run : runs) pointers.push_back(&run);
  Spec spec;
  spec.side_sizes = {4, 4};
  spec.tests_shares = by_share;
  report.emplace(report_of(pointers, spec));
  return first_group(*report);
}

BOOST_AUTO_TEST_CASE(tests_functions_for_significance) {
  std::optional<Report> report;
  const StackGroup group = compare_runs(make_differing_runs(), report);
  BOOST_REQUIRE(report->stacks()->is_tested());
  BOOST_TEST(name_of(*report, group.functions[0]) == "render (bin)");
  const auto find_proof = [&](const std::string& name) -> std::optional<RowTestResult> {
    for (const FunctionRow& row : group.functions)
      if (name_of(*report, row) == name) return row.test_results.at(0);
    return std::nullopt;
  };
  const auto render = find_proof("render (bin)"), parse = find_proof("parse (bin)");
  BOOST_REQUIRE(render && parse);
  BOOST_TEST(render->is_significant);
  BOOST_TEST(render->p == 2.0 / 70, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(render->shift == 0.3, boost::test_tools::tolerance(0.01));
  BOOST_TEST(!parse->is_significant);
  BOOST_TEST(!find_proof("rare (bin)").has_value());
  const std::string text = format_stacks(*report, {}, std::nullopt);
  BOOST_TEST(contains(text, " +3.0"));
  BOOST_TEST(!contains(text, "~+3."));
  BOOST_TEST(contains(text, "0.029"));
  BOOST_TEST(contains(text, " ~"));
}

// Returns runs of a service whose CPU time varies by a factor of three, in both halves alike. One
// function grows from 16 % to 20 % of it.
std::vector<Snapshot> make_starved_runs() {
  constexpr std::uint64_t kTimes[] = {900, 300, 700, 480};
  std::vector<Snapshot> runs;
  for (std::uint64_t run = 0; run < 8; ++run) {
    const std::uint64_t all = kTimes[run % 4] * kMs, percent = run < 4 ? 16 : 20;
    runs.push_back(window_of({{"service",
                               {{{"bin:parse", "bin:main"}, all * percent / 100 + run * 1000},
                                {{"bin:render", "bin:main"}, all * (100 - percent) / 100}}}}));
  }
  return runs;
}

BOOST_AUTO_TEST_CASE(tests_functions_by_their_share) {
  const auto runs = make_starved_runs();
  std::optional<Report> by_weight, by_share;
  const StackGroup weights = compare_runs(runs, by_weight),
                   shares_of_group = compare_runs(runs, by_share, true);
  for (const FunctionRow& row : weights.functions) BOOST_TEST(!row.is_significant());
  BOOST_TEST(name_of(*by_share, shares_of_group.functions[0]) == "parse (bin)");
  const RowTestResult& parse = *shares_of_group.functions[0].test_results.at(0);
  BOOST_TEST(parse.is_significant);
  BOOST_TEST(parse.shift == 0.25, boost::test_tools::tolerance(0.02));
  const std::string text = format_stacks(*by_share, {}, std::nullopt);
  BOOST_TEST(contains(text, " +4.0pp  0.029 "), text);
  BOOST_TEST(!contains(format_stacks(*by_weight, {}, std::nullopt), "pp"));
}

// The page tests and colours frames like the table of functions.
BOOST_AUTO_TEST_CASE(page_shows_changes_and_p_of_functions) {
  const auto runs = make_starved_runs();
  for (const bool by_share : {false, true}) {
    std::optional<Report> report;
    const StackGroup group = compare_runs(runs, report, by_share);
    const std::vector<std::string> files{"a.zst", "b.zst"};
    const std::string page = make_report_page(*report, files, {"ctprof report", false, {}}),
                      text = format_stacks(*report, {}, std::nullopt);
    for (const FunctionRow& row : group.functions) {
      const std::string change = format_function_change(*report, group, row),
                        p = format_function_p(row);
      if (p.empty()) continue;  // has no self weight
      BOOST_TEST(change.starts_with('~') == !by_share, change);
      BOOST_TEST(contains(text, change + " "), text);
      BOOST_TEST(contains(text, " " + p + " "), text);
      BOOST_TEST(
          contains(page, "<td class=\"n\">" + change + "</td><td class=\"n\">" + p + "</td>"),
          change);
    }
    BOOST_TEST(contains(text, "of service: 59.0ms/s\n"), text);  // the median of the runs
    BOOST_TEST(contains(page, "</b>: 59.0ms/s → 59.0ms/s</figcaption>"));
    BOOST_TEST(contains(page, "scaled to the same total") == by_share);
    BOOST_TEST(contains(page, "; not significant") == !by_share);
  }
}

// A run without samples of a group does not contribute to the group's shares.
BOOST_AUTO_TEST_CASE(a_run_without_samples_has_no_shares) {
  auto runs = make_starved_runs();
  runs[7] = window_of({{"service", {}}});
  std::optional<Report> report;
  const StackGroup group = compare_runs(runs, report, true);
  std::size_t tested_functions = 0;
  report->stacks()->evidence().visit(1, [&](const TestedFunction& row) {
    ++tested_functions;
    BOOST_TEST(std::isnan(row.runs[7]));
    BOOST_TEST(row.runs[0] < 1);
  });
  BOOST_TEST(tested_functions == 2u);
  BOOST_TEST(group.functions[0].test_results.at(0).has_value());
}

BOOST_AUTO_TEST_CASE(does_not_test_functions_of_single_runs) {
  const std::vector<Snapshot> runs = make_differing_runs();
  const Report report = report_of({&runs[0], &runs[7]});
  const StackGroup group = first_group(report);
  BOOST_TEST(!report.stacks()->is_tested());
  for (const FunctionRow& row : group.functions) BOOST_TEST(row.test_results.empty());
  BOOST_TEST(!contains(format_stacks(report, {}, std::nullopt), "~"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::stacks_compare_test
