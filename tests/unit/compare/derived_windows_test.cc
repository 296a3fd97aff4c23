// Tests derived metrics of windows: rates of counters, ratios of counters, and levels at both ends.

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "core/compare/report/capture_figures.hpp"
#include "core/compare/report/report.hpp"
#include "core/compare/request/expressions.hpp"
#include "core/render/report_json.hpp"
#include "core/render/report_text.hpp"
#include "tests/unit/support/test_windows.hpp"

namespace ctprof::derived_windows_test {
namespace {

namespace json = boost::json;
using hand_made::add_u64;
using hand_made::Cells;
using hand_made::metric;

const RuleSet rules;
const MetricDef kAllocated = metric("made", "Bytes", "SumBytes"),
                kFreed = metric("freed", "Bytes", "SumBytes"),
                kHeap = metric("heap", "GaugeBytes", "SumGaugeBytes"),
                kProcessMetric = metric("of_process", "Bytes", "SumBytes", Entity::Process);

// The counters and level of a process with one thread at one time.
struct ProcessReadings {
  std::optional<std::uint64_t> allocated, freed;
  std::uint64_t heap = 0;
};

Snapshot snapshot_at(std::uint64_t second, const std::vector<ProcessReadings>& all) {
  std::vector<hand_made::StartedThread> threads;
  Cells<std::uint64_t> made, freed, heap, of_process;
  for (const ProcessReadings& read : all) {
    threads.push_back({threads.size() + 1, threads.size() < 1 ? 5u : 1100u});
    made.push_back(read.allocated);
    freed.push_back(read.freed);
    heap.push_back(read.heap);
    of_process.push_back(read.allocated);
  }
  Snapshot snapshot = hand_made::snapshot_at(second, threads);
  add_u64(snapshot, kAllocated, made);
  add_u64(snapshot, kFreed, freed);
  add_u64(snapshot, kHeap, heap);
  add_u64(snapshot, kProcessMetric, of_process);
  return snapshot;
}

DerivedDef make_derived(std::string name, std::string expression, std::string family = "gauge") {
  DerivedDef derived;
  derived.name = std::move(name);
  derived.expression = std::move(expression);
  derived.unit = "bytes";
  derived.family = std::move(family);
  derived.section = "derived";
  return derived;
}

// Returns a window that opens at 10 s. Only the first thread existed before.
Snapshot window_of(std::uint64_t seconds, const std::vector<ProcessReadings>& before,
                   const std::vector<ProcessReadings>& after,
                   const std::vector<DerivedDef>& derived = {}) {
  Snapshot end = snapshot_at(10 + seconds, after);
  end.derived = derived;
  return hand_made::make_test_window(snapshot_at(10, before), std::move(end));
}

Report report_of(const std::vector<Snapshot>& runs, const std::vector<std::string>& derive,
                 std::vector<std::string> metrics, const std::string& fail_on = {}) {
  Spec spec;
  spec.metrics = std::move(metrics);
  for (const std::string& text : derive) spec.derive.push_back(*parse_derive(text));
  if (!fail_on.empty()) spec.fail_on.push_back(*parse_fail_on(fail_on));
  std::vector<const Snapshot*> pointers;
  for (const Snapshot& run : runs) pointers.push_back(&run);
  auto report = Report::make(pointers, spec, {&rules, {}});
  BOOST_REQUIRE_MESSAGE(report, report.error().text);
  return std::move(*report);
}

std::string json_member(const Report& report, const std::string& metric, const std::string& name) {
  StringSink sink;
  const std::vector<std::string> files(report.sides().size(), "file");
  BOOST_REQUIRE(write_report_json(report, files, sink));
  const json::value document = json::parse(sink.text());
  for (const json::value& row : document.at("rows").as_array())
    if (row.at("metric").as_string() == metric) return json::serialize(row.at(name));
  return "no row";
}

BOOST_AUTO_TEST_SUITE(derived_windows_test)

BOOST_AUTO_TEST_CASE(compares_rates_of_sums_for_windows_of_different_length) {
  std::vector<Snapshot> runs;
  runs.push_back(window_of(1, {{100, 10}}, {{300, 20}}));
  runs.push_back(window_of(4, {{100, 10}}, {{900, 50}}));
  const Report report = report_of(runs, {"sum = made + freed", "share = freed / made"},
                                  {"sum", "share"}, "sum.pct > 5");
  BOOST_TEST(json_member(report, "sum", "baseline") == "210");
  BOOST_TEST(json_member(report, "sum", "candidate") == "210");
  BOOST_TEST(json_member(report, "sum", "pct") == "0");
  BOOST_TEST(json_member(report, "sum", "per_second") == "true");
  BOOST_TEST(json_member(report, "share", "candidate") == "5E-2");
  BOOST_TEST(json_member(report, "share", "per_second") == "false");
  BOOST_TEST(report.fail_on_section().rows.empty());
}

// A derived metric without a declared family is a gauge, as from most plugins.
BOOST_AUTO_TEST_CASE(a_derived_sum_of_counters_is_a_rate) {
  const std::vector<DerivedDef> derived{make_derived("sum", "made + freed")};
  std::vector<Snapshot> runs;
  runs.push_back(window_of(1, {{100, 10}}, {{300, 20}}, derived));
  runs.push_back(window_of(4, {{100, 10}}, {{900, 50}}, derived));
  const Report report = report_of(runs, {}, {"sum"});
  BOOST_TEST(json_member(report, "sum", "pct") == "0");
  BOOST_TEST(json_member(report, "sum", "per_second") == "true");
}

BOOST_AUTO_TEST_CASE(a_level_of_totals_has_its_final_value_and_its_change) {
  const std::vector<DerivedDef> derived{make_derived("in_use", "made - freed")};
  std::vector<Snapshot> runs;
  runs.push_back(window_of(2, {{1000, 400}}, {{5000, 1900}}, derived));
  const Report report = report_of(runs, {}, {"in_use", "made"});
  BOOST_TEST(json_member(report, "in_use", "value") == "3100");
  BOOST_TEST(json_member(report, "in_use", "change") == "2500");
  BOOST_TEST(json_member(report, "made", "value") == "4000");
  const std::vector<std::string> files{"file"};
  const std::string text =
      format_report_text(report, files, get_default_columns(ReportKind::Show), {});
  BOOST_TEST(text.find("3.027KiB (+2.441KiB)") != std::string::npos, text);
  BOOST_TEST(text.find("(total)") == std::string::npos, text);
}

// The totals at the end are available although the opening values are missing.
BOOST_AUTO_TEST_CASE(a_level_without_an_opening_value_has_no_change) {
  const std::vector<DerivedDef> derived{make_derived("in_use", "made - freed")};
  std::vector<Snapshot> runs;
  runs.push_back(window_of(2, {{{}, 400}}, {{5000, 1900}}, derived));
  const Report report = report_of(runs, {}, {"in_use"});
  BOOST_TEST(json_member(report, "in_use", "value") == "3100");
  BOOST_TEST(json_member(report, "in_use", "change") == "null");
}

BOOST_AUTO_TEST_CASE(compares_levels_of_windows_of_different_length) {
  const std::vector<DerivedDef> derived{make_derived("in_use", "made - freed")};
  std::vector<Snapshot> runs;
  runs.push_back(window_of(1, {{1000, 400}}, {{2000, 1400}}, derived));
  runs.push_back(window_of(4, {{1000, 400}}, {{9000, 8400}}, derived));
  const Report report = report_of(runs, {}, {"in_use"});
  BOOST_TEST(json_member(report, "in_use", "baseline") == "600");
  BOOST_TEST(json_member(report, "in_use", "candidate") == "600");
  BOOST_TEST(json_member(report, "in_use", "per_second") == "false");
}

BOOST_AUTO_TEST_CASE(computes_a_level_of_levels_at_both_ends) {
  std::vector<Snapshot> runs;
  runs.push_back(window_of(2, {{1, 1, 100}}, {{9, 1, 700}}));
  const Report report =
      report_of(runs, {"twice = heap * 2 + 1", "spread = made / freed"}, {"twice", "spread"});
  BOOST_TEST(json_member(report, "twice", "value") == "1401");
  BOOST_TEST(json_member(report, "twice", "change") == "1200");
  BOOST_TEST(json_member(report, "spread", "change") == "null");
}

BOOST_AUTO_TEST_CASE(derive_subtracts_the_differences_of_counters) {
  std::vector<Snapshot> runs;
  runs.push_back(window_of(2, {{1000, 400}}, {{5000, 1900}}));
  const Report report = report_of(runs, {"grown = made - freed"}, {"grown"});
  BOOST_TEST(json_member(report, "grown", "value") == "2500");
  BOOST_TEST(json_member(report, "grown", "change") == "null");
}

BOOST_AUTO_TEST_CASE(refuses_a_counter_multiplied_by_a_level) {
  const std::vector<Snapshot> runs = [] {
    std::vector<Snapshot> made;
    made.push_back(window_of(2, {{1, 1}}, {{5, 1}}));
    return made;
  }();
  Spec spec;
  spec.derive.push_back(*parse_derive("x = made + heap"));
  const Snapshot* const all[] = {&runs[0]};
  const auto report = Report::make(all, spec, {&rules, {}});
  BOOST_REQUIRE(!report);
  BOOST_TEST(report.error().text ==
             "reading --derive 'x = made + heap': checking kinds of 'made + heap': it combines a "
             "counter with a level, and the result depends on how long the counter has counted; "
             "use a ratio of counters");
}

// A file of an older version can define such a metric.
BOOST_AUTO_TEST_CASE(reads_a_file_without_its_refused_derived_metric) {
  std::vector<Snapshot> runs;
  runs.push_back(window_of(2, {{1, 1}}, {{5, 1}}, {make_derived("x", "made + heap")}));
  const Report report = report_of(runs, {}, {"made"});
  BOOST_REQUIRE(!report.notes().empty());
  BOOST_TEST(report.notes()[0].starts_with("derived metric 'x' is left out: checking kinds of"));
}

BOOST_AUTO_TEST_CASE(a_registered_metric_combines_metrics_of_threads_and_of_processes) {
  std::vector<Snapshot> runs;
  runs.push_back(window_of(2, {{10, 1}}, {{50, 6}}, {make_derived("both", "freed + of_process")}));
  BOOST_TEST(json_member(report_of(runs, {}, {"both"}), "both", "value") == "45");
}

// For example, time off-CPU minus recorded delays, which can overlap.
BOOST_AUTO_TEST_CASE(a_negative_cumulative_result_is_a_missing_value) {
  const auto document = [](std::uint64_t made, std::uint64_t freed) {
    std::vector<Snapshot> runs;
    runs.push_back(window_of(2, {{10, 10}}, {{10 + made, 10 + freed}},
                             {make_derived("beyond", "made - freed", "cumulative")}));
    return json_member(report_of(runs, {}, {"beyond"}), "beyond", "value");
  };
  BOOST_TEST(document(40, 50) == "null");
  BOOST_TEST(document(40, 40) == "0");
  BOOST_TEST(document(40, 10) == "30");
}

// A fleet index does not keep totals that only formulas use.
BOOST_AUTO_TEST_CASE(an_index_keeps_levels_but_no_totals_of_formulas) {
  const Snapshot window =
      window_of(2, {{1000, 400}}, {{5000, 1900}}, {make_derived("in_use", "made - freed")});
  const auto plan = CapturePlan::make(window, {}, {&rules, {}});
  BOOST_REQUIRE(plan);
  const CaptureFigures figures(window, *plan);
  std::size_t found = 0;
  for (const auto& one : plan->numeric_metrics()) {
    BOOST_TEST(!plan->planned_metric(one).name.ends_with("(total)"));
    if (plan->planned_metric(one).name != "in_use") continue;
    BOOST_TEST(as_double(figures.total(one)) == 3100);
    ++found;
  }
  BOOST_TEST(found == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::derived_windows_test
