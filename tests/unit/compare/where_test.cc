// Tests expressions of the command line: selection of threads and groups, rows that fail --fail-on,
// and metrics defined with --derive.

#include <boost/test/unit_test.hpp>
#include <string>

#include "core/compare/figures/allowance.hpp"
#include "core/compare/report/excluded_threads.hpp"
#include "core/compare/report/report.hpp"
#include "core/compare/request/expressions.hpp"
#include "tests/unit/support/screen_windows.hpp"
#include "tests/unit/support/test_snapshots.hpp"

namespace ctprof::where_test {
namespace {

using namespace hand_made;

const RuleSet rules;

// web has three threads, then four; its leader is not a worker. One thread exits, two start.
Snapshot before() {
  Snapshot s = snapshot_of({{1, 1, "web", "web"},
                            {1, 2, "web", "worker-1"},
                            {1, 3, "web", "worker-2"},
                            {5, 5, "db", "db"},
                            {7, 7, "old", "old"}});
  add_u64(s, metric("run_time_ns", "MonotonicNs", "SumNs"), {100, 200, 300, 1000, 50});
  add_u64(s, metric("timeslices", "MonotonicCount", "SumCount"), {1, 2, {}, 10, 0});
  add_i64(s, metric("nice", "OrdinalI32", "RangeI32"), {0, -5, {}, 0, 0});
  add_text(s, metric("policy", "CategoricalString", "Mode"),
           {"OTHER", "FIFO", "FIFO", "OTHER", "OTHER"});
  add_bits(s, metric("cpus", "CpuSet", "Affinity"), {1, 1, 1, 1, 1});
  add_u64(s, metric("process.fds", "GaugeCount", "MaxGaugeCount", Entity::Process), {10, 20, 30});
  return s;
}
Snapshot after() {
  Snapshot s = snapshot_of({{1, 1, "web", "web"},
                            {1, 2, "web", "worker-1"},
                            {1, 3, "web", "worker-2"},
                            {1, 4, "web", "worker-3"},
                            {5, 5, "db", "db"},
                            {9, 9, "new", "new"}});
  add_u64(s, metric("run_time_ns", "MonotonicNs", "SumNs"), {100, 260, 300, 40, 1000, 70});
  add_u64(s, metric("timeslices", "MonotonicCount", "SumCount"), {1, 3, 1, 1, 10, 0});
  add_i64(s, metric("nice", "OrdinalI32", "RangeI32"), {0, -5, -5, -5, 0, 0});
  add_text(s, metric("policy", "CategoricalString", "Mode"),
           {"OTHER", "FIFO", "FIFO", "FIFO", "OTHER", "OTHER"});
  add_bits(s, metric("cpus", "CpuSet", "Affinity"), {1, 1, 1, 1, 1, 1});
  add_u64(s, metric("process.fds", "GaugeCount", "MaxGaugeCount", Entity::Process), {11, 20, 30});
  return s;
}

// The expressions of one command line, and functions that apply them to files and reports.
struct CommandOptions {
  std::vector<std::string> where{}, derive{}, fail_on{};
  GroupBy by = GroupBy::Pcomm;
  std::vector<std::string> metrics{};
  bool show = false;
};

Result<Spec> spec_of(const CommandOptions& options) {
  Spec spec;
  spec.group_by = options.by;
  spec.metrics = options.metrics;
  for (const std::string& text : options.where)
    if (auto added = add_condition(spec.where, text); !added) return added.error();
  for (const std::string& text : options.derive) {
    auto derived = parse_derive(text);
    if (!derived) return derived.error();
    spec.derive.push_back(*derived);
  }
  for (const std::string& text : options.fail_on) {
    auto condition = parse_fail_on(text);
    if (!condition) return condition.error();
    spec.fail_on.push_back(*condition);
  }
  return spec;
}

const Snapshot kBefore = before(), kAfter = after();

Result<Report> make_report(const CommandOptions& options) {
  const Snapshot* sides[] = {&kBefore, &kAfter};
  const auto spec = spec_of(options);
  if (!spec) return spec.error();
  return Report::make(std::span(sides).first(options.show ? 1 : 2), *spec, {&rules, {}});
}

std::string refusal(const CommandOptions& options) {
  const auto report = make_report(options);
  return report ? "" : report.error().text;
}

using Lines = std::vector<std::string>;

// Returns "group metric before after" of each row, section by section.
Lines lines_of(const Report& report, const std::vector<RowPosition>& rows) {
  Lines lines;
  for (const RowPosition row : rows) {
    std::string line =
        readable_key(report.grouping().name(report.metrics()[row.metric].entity, row.group)) + " " +
        report.metrics()[row.metric].name;
    for (std::size_t side = 0; side < report.sides().size(); ++side)
      line += " " + report.rollup().text({side, row.group, row.metric});
    lines.push_back(line);
  }
  return lines;
}
Lines row_lines(const CommandOptions& options) {
  const auto report = make_report(options);
  BOOST_REQUIRE_MESSAGE(report, report.error().text);
  std::vector<RowPosition> all;
  for (const Section& section : report->sections())
    all.insert(all.end(), section.rows.begin(), section.rows.end());
  Lines lines = lines_of(*report, all);
  std::sort(lines.begin(), lines.end());
  return lines;
}
Lines failed_lines(const CommandOptions& options) {
  const auto report = make_report(options);
  BOOST_REQUIRE_MESSAGE(report, report.error().text);
  return lines_of(*report, report->fail_on_section().rows);
}

#define TEST_LINES(found, ...) \
  BOOST_TEST((found) == (Lines{__VA_ARGS__}), boost::test_tools::per_element())

BOOST_AUTO_TEST_SUITE(where_test)

BOOST_AUTO_TEST_CASE(selects_threads_before_grouping) {
  TEST_LINES(
      row_lines({.where = {R"(comm =~ "^worker")"}, .metrics = {"run_time_ns", "thread_count"}}),
      "web run_time_ns 500ns 600ns", "web thread_count 2 3");
  TEST_LINES(row_lines({.where = {"tid == 5"}, .metrics = {"run_time_ns"}}),
             "db run_time_ns 1.000µs 1.000µs");
  TEST_LINES(row_lines({.where = {"tgid == 1", "nice < 0"}, .metrics = {"thread_count"}}),
             "web thread_count 1 3");
  TEST_LINES(row_lines({.where = {R"(policy == "FIFO" || run_time_ns / timeslices >= 100)"},
                        .metrics = {"thread_count"}}),
             "db thread_count 1 1", "web thread_count 3 4");
}

BOOST_AUTO_TEST_CASE(omitted_names_do_not_affect_patterns) {
  TEST_LINES(
      row_lines(
          {.where = {R"(comm == "worker-1")"}, .by = GroupBy::Comm, .metrics = {"thread_count"}}),
      "worker-1 thread_count 1 1");
  TEST_LINES(
      row_lines(
          {.where = {R"(comm =~ "^worker")"}, .by = GroupBy::Comm, .metrics = {"thread_count"}}),
      "worker-{N} thread_count 2 3");
  TEST_LINES(
      row_lines(
          {.where = {R"(comm == "worker-1")"}, .by = GroupBy::All, .metrics = {"thread_count"}}),
      " > web > worker-1 thread_count 1 1");
}

BOOST_AUTO_TEST_CASE(selects_a_process_with_its_leader) {
  TEST_LINES(row_lines({.where = {"tgid == 1"}, .metrics = {"process.fds"}}),
             "web process.fds 10 11");
  TEST_LINES(row_lines({.where = {R"(comm =~ "^worker")"}, .metrics = {"process.fds"}}));
}

BOOST_AUTO_TEST_CASE(selects_groups_after_grouping) {
  TEST_LINES(row_lines({.where = {"threads > 1"}, .metrics = {"thread_count", "process.fds"}}),
             "web process.fds 10 11", "web thread_count 3 4");
  TEST_LINES(row_lines({.where = {"threads >= 4"}, .metrics = {"thread_count"}}),
             "web thread_count 3 4");  // on either side
  TEST_LINES(row_lines({.where = {"threads <= 3"}, .metrics = {"thread_count"}}),
             "db thread_count 1 1", "web thread_count 3 4");
  TEST_LINES(row_lines({.where = {R"(group =~ "^(db|web)$" && threads < 2)"},
                        .metrics = {"thread_count"}}),
             "db thread_count 1 1");
  // A group condition counts only the threads that the thread condition selects.
  TEST_LINES(
      row_lines({.where = {"threads >= 3", R"(comm =~ "^worker")"}, .metrics = {"thread_count"}}),
      "web thread_count 2 3");
  TEST_LINES(row_lines({.where = {"threads >= 3", R"(comm =~ "^worker")"},
                        .metrics = {"thread_count"},
                        .show = true}));
}

BOOST_AUTO_TEST_CASE(selects_groups_by_aggregated_values) {
  TEST_LINES(row_lines({.where = {"process.fds > 15"}, .metrics = {"process.fds"}}),
             "db process.fds 20 20");
  TEST_LINES(row_lines({.where = {"process.fds <= 10"}, .metrics = {"process.fds"}}),
             "web process.fds 10 11");  // on either side
  TEST_LINES(row_lines({.where = {"thread_count == 4"}, .metrics = {"thread_count"}}),
             "web thread_count 3 4");
  TEST_LINES(row_lines({.where = {"slice > 150"},
                        .derive = {"slice = run_time_ns / timeslices"},
                        .metrics = {"slice"}}),
             "web slice 200.00ns 116.67ns");
  // Computed from the selected threads.
  TEST_LINES(row_lines({.where = {"slice > 150", "tid == 4"},
                        .derive = {"slice = run_time_ns / timeslices"},
                        .show = true}));
}

BOOST_AUTO_TEST_CASE(combines_conditions_on_threads_and_groups) {
  TEST_LINES(
      row_lines({.where = {R"(comm =~ "^worker" && threads >= 3)"}, .metrics = {"thread_count"}}),
      "web thread_count 2 3");
  TEST_LINES(
      row_lines({.where = {R"(threads >= 4 && comm =~ "^worker")"}, .metrics = {"thread_count"}}));
  TEST_LINES(
      row_lines(
          {.where = {R"(nice <= 0 && (tgid == 1 || tgid == 5) && threads < 2 && group == "db")"},
           .metrics = {"thread_count"}}),
      "db thread_count 1 1");
}

BOOST_AUTO_TEST_CASE(omitted_groups_are_not_listed_as_one_sided) {
  const auto all = make_report({}), some = make_report({.where = {"threads > 1"}});
  BOOST_TEST(all->one_sided_groups(0).groups.size() == 1);
  BOOST_TEST(some->one_sided_groups(0).groups.empty());
  BOOST_TEST(some->one_sided_groups(1).groups.empty());
}

BOOST_AUTO_TEST_CASE(reports_omitted_rows) {
  BOOST_TEST(make_report({.where = {"nice < 0"}})->notes().back() ==
             "--where keeps 1 of 5 threads of the baseline and 3 of 6 of the candidate");
  BOOST_TEST(make_report({.where = {"nice < 0"}, .show = true})->notes().back() ==
             "--where keeps 1 of 5 threads");
  BOOST_TEST(make_report({.where = {"threads > 1"}})->notes().empty());
}

// The recording explains no wait of the selected threads.
BOOST_AUTO_TEST_CASE(the_busiest_excluded_processes_omit_the_recording) {
  using screen_windows::kSecond;
  const Snapshot window = screen_windows::window_of({{.name = "kept", .cpu = 9 * kSecond},
                                                     {.name = "a", .cpu = kSecond},
                                                     {.name = "ctprof", .cpu = 8 * kSecond},
                                                     {.name = "b", .cpu = 3 * kSecond},
                                                     {.name = "a", .cpu = kSecond},
                                                     {.name = "c", .cpu = 4 * kSecond},
                                                     {.name = "d", .cpu = 1}},
                                                    10, {3});
  KeptRows kept(window.threads().rows);
  BOOST_TEST(find_busiest_excluded(window, {}).empty());
  kept[0] = true;
  const std::vector<ExcludedProcesses> found = find_busiest_excluded(window, kept);
  const std::vector<std::pair<const char*, double>> expected{{"c", 4e9}, {"b", 3e9}, {"a", 2e9}};
  BOOST_REQUIRE_EQUAL(found.size(), expected.size());
  for (std::size_t at = 0; at < found.size(); ++at) {
    BOOST_TEST(found[at].name == expected[at].first);
    BOOST_TEST(found[at].run_ns == expected[at].second);
  }
}

BOOST_AUTO_TEST_CASE(refuses_invalid_where_expressions) {
  BOOST_TEST(refusal({.where = {"nise < 0"}}) ==
             "reading --where 'nise < 0': no metric 'nise' in the input (did you mean 'nice'?)");
  BOOST_TEST(refusal({.where = {"threads > 1 || nice < 0"}}) ==
             "reading --where 'threads > 1 || nice < 0': 'nice' is a metric of threads, 'threads' "
             "is one of groups; combine them only with &&, or use a separate --where for each");
  BOOST_TEST(refusal({.where = {"process.fds > nice"}})
                 .find("'nice' is a metric of threads, 'process.fds' is one of groups") !=
             std::string::npos);
  BOOST_TEST(refusal({.where = {"tid == 5 && 1 == 1"}}) ==
             "reading --where 'tid == 5 && 1 == 1': it names no metric");
  BOOST_TEST(refusal({.where = {"cpus == 1"}}) ==
             "reading --where 'cpus == 1': 'cpus' is neither a number nor a text");
  BOOST_TEST(refusal({.where = {"nice == \"x\""}}) ==
             "reading --where 'nice == \"x\"': '==' needs two numbers or two texts");
  BOOST_TEST(refusal({.where = {"group > 1"}}) ==
             "reading --where 'group > 1': '>' needs a number on either side");
  BOOST_TEST(refusal({.where = {"1 == 1"}}) == "reading --where '1 == 1': it names no metric");
}

BOOST_AUTO_TEST_CASE(finds_rows_that_fail) {
  TEST_LINES(failed_lines({.fail_on = {"run_time_ns.pct > 16"}}),
             "web run_time_ns 600ns 700ns");  // by 16.67%
  TEST_LINES(failed_lines({.fail_on = {"run_time_ns.pct > 17"}}));
  TEST_LINES(failed_lines({.fail_on = {"run_time_ns.delta == 100 && timeslices.delta == 3"}}),
             "web timeslices 3 6", "web run_time_ns 600ns 700ns");
  TEST_LINES(failed_lines({.fail_on = {R"(run_time_ns.delta >= 0 && group =~ "^d")"}}),
             "db run_time_ns 1.000µs 1.000µs");
  TEST_LINES(failed_lines({.fail_on = {"thread_count.baseline < threads"}}),
             "web thread_count 3 4");
  TEST_LINES(failed_lines({.fail_on = {"run_time_ns.pct > 16", "run_time_ns.delta > 50",
                                       "process.fds.delta > 0"}}),
             "web run_time_ns 600ns 700ns", "web process.fds 10 11");
  TEST_LINES(failed_lines({}));
}

BOOST_AUTO_TEST_CASE(a_missing_value_does_not_match) {
  // `old` and `new` have no difference.
  TEST_LINES(failed_lines({.fail_on = {"!(run_time_ns.delta < 5000)"}}));
  TEST_LINES(failed_lines({.fail_on = {"run_time_ns.candidate == 70"}}), "new run_time_ns - 70ns");
  TEST_LINES(
      failed_lines({.where = {R"(group == "db")"}, .fail_on = {"run_time_ns.candidate > 0"}}),
      "db run_time_ns 1.000µs 1.000µs");
}

BOOST_AUTO_TEST_CASE(fail_on_rows_need_not_be_shown) {
  TEST_LINES(failed_lines({.fail_on = {"run_time_ns.pct > 16"}, .metrics = {"nice"}}),
             "web run_time_ns 600ns 700ns");
  TEST_LINES(failed_lines({.derive = {"slice = run_time_ns / timeslices"},
                           .fail_on = {"slice.delta < -80"}}),
             "web slice 200.00ns 116.67ns");
}

// A large report must not pass --fail-on because the metric was left out.
BOOST_AUTO_TEST_CASE(keeps_metrics_that_any_option_names_at_any_size) {
  MetricPlan plan;
  for (const char* name : {"selected", "sorted", "filtered", "failing", "input", "other"}) {
    PlannedMetric& metric = plan.metrics.emplace_back();
    metric.name = name;
  }
  plan.metrics[3].inputs = {4};
  Spec spec;
  spec.metrics = {"selected"};
  spec.sort = {{.by = SortKey::Criterion::Metric, .metric = "sorted"}};
  spec.fail_on.push_back(*Condition::parse("failing.pct > 5", "reading --fail-on"));
  const std::vector<Condition> of_groups{*Condition::parse("filtered > 1", "reading --where")};
  RunGroups groups;
  groups.keys = {0};
  constexpr std::size_t kTextBytes = 1, kRuns = 1 << 30;  // the share of a run is too small
  const std::vector<bool> omitted =
      ExpensiveMetricFilter(plan, spec, of_groups).find_for_run(groups, kTextBytes, kRuns);
  BOOST_TEST(omitted == (std::vector<bool>{false, false, false, false, false, true}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(refuses_invalid_fail_on_expressions) {
  BOOST_TEST(refusal({.fail_on = {"run_time_ns > 1"}}) ==
             "reading --fail-on 'run_time_ns > 1': 'run_time_ns' is none of METRIC.pct, "
             "METRIC.delta, METRIC.baseline, "
             "METRIC.candidate, METRIC.p, METRIC.shift, METRIC.low, METRIC.high, "
             "group, threads");
  BOOST_TEST(refusal({.fail_on = {"run_time.pct > 1"}}) ==
             "reading --fail-on 'run_time.pct > 1': no metric 'run_time' in the input (did you "
             "mean 'run_time_ns'?)");
  BOOST_TEST(refusal({.fail_on = {"policy.delta > 1"}}) ==
             "reading --fail-on 'policy.delta > 1': 'policy' is not a number");
  BOOST_TEST(refusal({.fail_on = {"threads > 1"}}).find("it names no metric") != std::string::npos);
  BOOST_TEST(refusal({.fail_on = {"group > 1 && nice.delta > 0"}})
                 .ends_with("'>' needs a number on either side"));
}

BOOST_AUTO_TEST_CASE(computes_metrics_of_derive) {
  TEST_LINES(row_lines({.derive = {"slice = run_time_ns / timeslices", "busy=run_time_ns*2"},
                        .metrics = {"slice", "busy"}}),
             "db busy 2.000µs 2.000µs", "db slice 100.00ns 100.00ns", "web busy 1.200µs 1.400µs",
             "web slice 200.00ns 116.67ns");
  TEST_LINES(
      row_lines(
          {.derive = {"per_thread = process.fds / 2"}, .metrics = {"per_thread"}, .show = true}),
      "db per_thread 10.00", "old per_thread 15.00", "web per_thread 5.00");
  const auto report =
      make_report({.derive = {"share = run_time_ns / (run_time_ns + run_time_ns)"}});
  const PlannedMetric& share = report->metrics().back();
  BOOST_TEST(share.unit == "ratio");
  BOOST_TEST(share.section == "derived");
}

BOOST_AUTO_TEST_CASE(refuses_invalid_derive_expressions) {
  BOOST_TEST(refusal({.derive = {"x"}}) ==
             "reading --derive 'x': it is not of the form 'name = expression'");
  BOOST_TEST(
      refusal({.derive = {"a b = nice"}}) ==
      "reading --derive 'a b = nice': 'a b' is not a valid name: use letters, digits, dots and _");
  BOOST_TEST(refusal({.derive = {"x? = nice"}}).find("is not a valid name") != std::string::npos);
  BOOST_TEST(refusal({.derive = {"x = nice +"}}).starts_with("reading expression 'nice +': "));
  BOOST_TEST(refusal({.derive = {"x = 3"}}) == "reading --derive 'x = 3': it reads no metric");
  BOOST_TEST(refusal({.derive = {"x = run_time"}}) ==
             "reading --derive 'x = run_time': no metric 'run_time' in the input (did you mean "
             "'run_time_ns'?)");
  BOOST_TEST(refusal({.derive = {"x = policy"}}) ==
             "reading --derive 'x = policy': 'policy' is not a number");
  BOOST_TEST(refusal({.derive = {"nice = run_time_ns"}}) ==
             "reading --derive 'nice = run_time_ns': metric 'nice' already exists");
  BOOST_TEST(refusal({.derive = {"tid = run_time_ns"}}) ==
             "reading --derive 'tid = run_time_ns': metric 'tid' already exists");
  BOOST_TEST(
      refusal({.derive = {"x = nice", "x = run_time_ns"}}).ends_with("metric 'x' already exists"));
  BOOST_TEST(refusal({.derive = {"x = nice", "y = x"}})
                 .ends_with("'x' is derived itself; write out its formula"));
  BOOST_TEST(refusal({.derive = {"x = run_time_ns + timeslices"}}) ==
             "reading --derive 'x = run_time_ns + timeslices': checking units of 'run_time_ns + "
             "timeslices': 'ns' and 'count' are units that cannot be combined");
  BOOST_TEST(
      refusal({.derive = {"x = run_time_ns / process.fds"}}) ==
      "reading --derive 'x = run_time_ns / process.fds': 'run_time_ns' is a metric of threads, "
      "'process.fds' of processes; a formula can only combine metrics of one kind of row");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::where_test
