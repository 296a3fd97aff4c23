// Tests the comparison of two snapshots: values, differences, coverage, order, limits, refused
// comparisons, and JSON output.

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>

#include "core/compare/report/report.hpp"
#include "core/render/report_json.hpp"
#include "tests/unit/support/test_snapshots.hpp"

namespace ctprof::compare_test {
namespace {

namespace json = boost::json;
using namespace hand_made;

const RuleSet rules;
const MetricDef kRunTime = metric("run_time_ns", "MonotonicNs", "SumNs");
const MetricDef kMigrations = metric("nr_migrations", "MonotonicCount", "SumCount");

DerivedDef make_derived(std::string name, std::string expression, std::string unit) {
  DerivedDef def;
  def.name = std::move(name);
  def.expression = std::move(expression);
  def.unit = std::move(unit);
  def.section = "derived";
  return def;
}

// Two processes on both sides, one that exits and one that starts.
Snapshot before() {
  Snapshot s = snapshot_of(
      {{1, 1, "web", "web"}, {1, 2, "web", "io"}, {5, 5, "db", "db"}, {7, 7, "old", "old"}});
  add_u64(s, kRunTime, {100, 200, 1000, 50});
  add_u64(s, kMigrations, {1, {}, 8, 0});
  s.derived = {make_derived("ns_per_migration", "run_time_ns / nr_migrations", "ns")};
  return s;
}
Snapshot after() {
  Snapshot s = snapshot_of(
      {{1, 1, "web", "web"}, {1, 2, "web", "io"}, {5, 5, "db", "db"}, {9, 9, "new", "new"}});
  add_u64(s, kRunTime, {150, 250, 900, 70});
  add_u64(s, kMigrations, {3, 4, 8, 0});
  s.derived = {make_derived("ns_per_migration", "run_time_ns / nr_migrations", "ns")};
  return s;
}

Report compare(const Snapshot& a, const Snapshot& b, const Spec& spec = {}) {
  const Snapshot* sides[] = {&a, &b};
  auto report = Report::make(sides, spec, {&rules, {}});
  BOOST_REQUIRE_MESSAGE(report, report.error().text);
  return std::move(*report);
}
std::string refusal(const Snapshot& a, const Snapshot& b, const Spec& spec) {
  const Snapshot* sides[] = {&a, &b};
  const auto report = Report::make(sides, spec, {&rules, {}});
  return report ? "" : report.error().text;
}

json::object as_json(const Report& report) {
  StringSink sink;
  const std::string files[] = {"a.zst", "b.zst"};
  BOOST_REQUIRE(write_report_json(report, std::span(files).first(report.sides().size()), sink));
  return json::parse(sink.text()).as_object();
}

// Returns "group metric" of each row, in order.
std::vector<std::string> order_of(const Report& report, std::string_view section = "primary") {
  std::vector<std::string> rows;
  for (const Section& s : report.sections())
    for (const RowPosition row : s.rows)
      if (s.name == section)
        rows.push_back(report.grouping().names[row.group] + " " +
                       report.metrics()[row.metric].name);
  return rows;
}

json::object row_of(const json::object& report, std::string_view group, std::string_view metric) {
  for (const json::value& row : report.at("rows").as_array())
    if (row.at("group").as_string() == group && row.at("metric").as_string() == metric)
      return row.as_object();
  BOOST_FAIL("no row of " << group << " and " << metric);
  return {};
}

BOOST_AUTO_TEST_SUITE(compare_test)

BOOST_AUTO_TEST_CASE(a_row_has_both_values_and_their_difference) {
  const Snapshot a = before(), b = after();
  const json::object report = as_json(compare(a, b));
  BOOST_TEST(report.at("schema").to_number<int>() == 1);
  BOOST_TEST(
      json::serialize(row_of(report, "web", "run_time_ns")) ==
      R"({"section":"primary","group":"web","metric":"run_time_ns","unit":"ns","per_second":false,"baseline":300,"candidate":400,"delta":100,)"
      R"("pct":3.333333333333333E-1,"shift":null,"low":null,"high":null,"p":null,"proven":null,)"
      R"("delta_alive":null,"delta_new":null,"delta_gone":null,"per_life_baseline":null,"per_life_candidate":null,"runs_baseline":1,"runs_candidate":1,"threads_baseline":2,)"
      R"("threads_candidate":2,"coverage_baseline":{"values":2,"rows":2},"coverage_candidate":{"values":2,"rows":2},)"
      R"("parts_baseline":null,"parts_candidate":null,"threads_alive":null,"threads_new":null,"threads_gone":null,"busiest_baseline":{"tid":2,"comm":"io"},)"
      R"("extras_baseline":null,"busiest_candidate":{"tid":2,"comm":"io"},"extras_candidate":null})");
  const json::object partial = row_of(report, "web", "nr_migrations");
  BOOST_TEST(json::serialize(partial.at("coverage_baseline")) == R"({"values":1,"rows":2})");
  BOOST_TEST(partial.at("delta").to_number<int>() == 6);
  BOOST_TEST(row_of(report, "db", "run_time_ns").at("delta").to_number<int>() == -100);
  BOOST_TEST(row_of(report, "web", "thread_count").at("baseline").to_number<int>() == 2);
}

BOOST_AUTO_TEST_CASE(lists_groups_of_one_side_separately) {
  const Snapshot a = before(), b = after();
  const json::object report = as_json(compare(a, b));
  for (const json::value& row : report.at("rows").as_array()) {
    BOOST_TEST(row.at("group").as_string() != "old");
    BOOST_TEST(row.at("group").as_string() != "new");
  }
  const json::object& only = report.at("only_candidate").as_array().at(0).as_object();
  BOOST_TEST(report.at("only_candidate").as_array().size() == 1);
  BOOST_TEST(only.at("group").as_string() == "new");
  BOOST_TEST(only.at("threads").to_number<int>() == 1);
  BOOST_TEST(only.at("values").as_array().size() == 3);
  // Its largest share is 70 of 1,370.
  BOOST_TEST(only.at("values").as_array().at(0).at("metric").as_string() == "run_time_ns");
  BOOST_TEST(report.at("only_baseline").as_array().at(0).at("group").as_string() == "old");
}

BOOST_AUTO_TEST_CASE(ranks_changes_across_units) {
  const Snapshot a = before(), b = after();
  // Migrations of web: 6 of 15. Run time: 100 of 1,370 for both; equal values are ordered by group
  // name.
  const auto order = order_of(compare(a, b, {.only_changed = true}));
  BOOST_TEST(
      order == (std::vector<std::string>{"web nr_migrations", "db run_time_ns", "web run_time_ns"}),
      boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_change_is_ranked_by_its_share_of_the_larger_total) {
  Snapshot a = snapshot_of({{1, 1, "p", "p"}}), b = snapshot_of({{1, 1, "p", "p"}});
  const MetricDef fell = metric("fell", "MonotonicNs", "SumNs"),
                  rose = metric("rose", "MonotonicNs", "SumNs");
  add_u64(a, fell, {1000});
  add_u64(b, fell, {10});  // 990 of 1,000
  add_u64(a, rose, {0});
  add_u64(b, rose, {5});  // 5 of 5
  const std::vector<std::string> expected{"p rose", "p fell"};
  BOOST_TEST(order_of(compare(a, b, {.only_changed = true})) == expected,
             boost::test_tools::per_element());
  BOOST_TEST(order_of(compare(b, a, {.only_changed = true})) == expected,
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(orders_equal_rows_by_group_and_metric) {
  const Snapshot a = before();
  BOOST_TEST(
      order_of(compare(a, a, {.metrics = {"run_time_ns", "nr_migrations"}})) ==
          (std::vector<std::string>{"db run_time_ns", "db nr_migrations", "old run_time_ns",
                                    "old nr_migrations", "web run_time_ns", "web nr_migrations"}),
      boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(exchanging_the_files_negates_differences_and_keeps_the_order) {
  const Snapshot a = before(), b = after();
  const Report forward_report = compare(a, b), reverse_report = compare(b, a);
  BOOST_TEST(order_of(forward_report) == order_of(reverse_report),
             boost::test_tools::per_element());
  const json::array x = as_json(forward_report).at("rows").as_array(),
                    y = as_json(reverse_report).at("rows").as_array();
  for (std::size_t i = 0; i < x.size(); ++i) {
    BOOST_TEST(x[i].at("baseline") == y[i].at("candidate"));
    if (x[i].at("delta").is_number())
      BOOST_TEST(x[i].at("delta").to_number<double>() == -y[i].at("delta").to_number<double>());
  }
}

BOOST_AUTO_TEST_CASE(a_file_has_no_changes_against_itself) {
  const Snapshot a = before(), same = before();
  const Report report = compare(a, same, {.only_changed = true});
  for (const Section& section : report.sections()) BOOST_TEST(section.rows.empty());
  BOOST_TEST(report.sections()[0].unchanged_rows == 9);
  BOOST_TEST(report.one_sided_groups(0).groups.empty());
}

BOOST_AUTO_TEST_CASE(computes_derived_metrics_from_aggregates) {
  const Snapshot a = before(), b = after();
  const json::object web = row_of(as_json(compare(a, b)), "web", "ns_per_migration");
  BOOST_TEST(web.at("baseline").to_number<double>() == 300);
  BOOST_TEST(web.at("candidate").to_number<double>() == 400.0 / 7);
  BOOST_TEST(json::serialize(web.at("coverage_baseline")) == R"({"values":3,"rows":4})");
  BOOST_TEST(web.at("section").as_string() == "derived");
}

BOOST_AUTO_TEST_CASE(ratios_have_no_percentage_and_no_value_for_a_zero_divisor) {
  Snapshot a = before(), b = after();
  for (Snapshot* s : {&a, &b}) {
    s->derived.push_back(make_derived("share", "run_time_ns / (run_time_ns + absent?)", "ratio"));
    s->derived.push_back(make_derived("never", "run_time_ns / absent", "ns"));
  }
  const json::object report = as_json(compare(a, b));
  BOOST_TEST(row_of(report, "web", "share").at("baseline").to_number<double>() == 1);
  BOOST_TEST(row_of(report, "web", "share").at("pct").is_null());
  BOOST_TEST(json::serialize(row_of(report, "web", "share").at("coverage_baseline")) ==
             R"({"values":2,"rows":4})");
  BOOST_TEST(row_of(report, "web", "never").at("baseline").is_null());
}

BOOST_AUTO_TEST_CASE(sorts_by_the_requested_keys) {
  const Snapshot a = before(), b = after();
  const auto sorted = [&](std::string_view by) {
    return order_of(compare(a, b,
                            {.metrics = {"run_time_ns", "nr_migrations"},
                             .sort = *parse_sort(by, ReportKind::Compare)}));
  };
  using Rows = std::vector<std::string>;
  BOOST_TEST(sorted("run_time_ns") == (Rows{"web run_time_ns", "web nr_migrations",
                                            "db run_time_ns", "db nr_migrations"}),
             boost::test_tools::per_element());
  BOOST_TEST(sorted("run_time_ns:asc") == (Rows{"db run_time_ns", "db nr_migrations",
                                                "web run_time_ns", "web nr_migrations"}),
             boost::test_tools::per_element());
  BOOST_TEST(sorted("delta,name:desc") == (Rows{"web run_time_ns", "db run_time_ns",
                                                "web nr_migrations", "db nr_migrations"}),
             boost::test_tools::per_element());
  BOOST_TEST(sorted("pct") == (Rows{"web nr_migrations", "web run_time_ns", "db run_time_ns",
                                    "db nr_migrations"}),
             boost::test_tools::per_element());
  BOOST_TEST(sorted("name:desc,pct:asc") == (Rows{"web run_time_ns", "web nr_migrations",
                                                  "db nr_migrations", "db run_time_ns"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(counts_rows_beyond_the_limit) {
  const Snapshot a = before(), b = after();
  const Report report = compare(a, b, {.limit = 2});
  BOOST_TEST(report.sections()[0].rows.size() == 2);
  BOOST_TEST(report.sections()[0].over_limit == 4);
  BOOST_TEST(json::serialize(as_json(report).at("cut")) == R"({"primary":4})");
  const auto all = order_of(compare(a, b));
  BOOST_TEST(order_of(report) == std::vector<std::string>(all.begin(), all.begin() + 2),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(suggests_the_nearest_known_name) {
  const Snapshot a = before(), b = after();
  BOOST_TEST(refusal(a, b, {.metrics = {"run_time"}}) ==
             "no metric 'run_time' in the input (did you mean 'run_time_ns'?)");
  BOOST_TEST(refusal(a, b, {.sort = *parse_sort("nr_migration", ReportKind::Compare)}) ==
             "--sort-by: no metric 'nr_migration' in the input (did you mean 'nr_migrations'?)");
  Snapshot with_mode = before();
  add_text(with_mode, metric("policy", "CategoricalString", "Mode"), {"A", "A", "A", "A"});
  BOOST_TEST(refusal(with_mode, b, {.sort = *parse_sort("policy", ReportKind::Compare)}) ==
             "--sort-by: 'policy' is not a number; sort by a metric that is a number");
}

BOOST_AUTO_TEST_CASE(refuses_metrics_with_different_definitions) {
  Snapshot a = before(), b = after();
  add_u64(a, metric("x", "MonotonicNs", "SumNs"), {1, 1, 1, 1});
  add_u64(b, metric("x", "PeakNs", "MaxPeak"), {1, 1, 1, 1});
  b.derived[0].expression = "nr_migrations / run_time_ns";
  const Report report = compare(a, b);
  BOOST_REQUIRE(report.notes().size() == 2);
  BOOST_TEST(report.notes()[0] ==
             "metric 'x' is not compared: the first file defines it as MonotonicNs under SumNs in "
             "ns, per thread, the second as "
             "PeakNs under MaxPeak in ns, per thread");
  BOOST_TEST(report.notes()[1] ==
             "derived metric 'ns_per_migration' is not compared: two files compute it differently");
  for (const PlannedMetric& m : report.metrics())
    BOOST_TEST((m.name != "x" && m.name != "ns_per_migration"));
}

BOOST_AUTO_TEST_CASE(replaces_an_unknown_rule_and_reports_it) {
  Snapshot a = before(), b = after();
  MetricDef with_fallback = metric("p99_ns", "PeakNs", "other.P99"),
            without = metric("lost", "PeakNs", "other.P99");
  with_fallback.fallback = "MaxPeak";
  for (Snapshot* s : {&a, &b}) {
    add_u64(*s, with_fallback, {4, 9, 1, 1});
    add_u64(*s, without, {4, 9, 1, 1});
  }
  const Report report = compare(a, b);
  BOOST_REQUIRE(report.notes().size() == 2);
  BOOST_TEST(report.notes()[0] ==
             "metric 'lost' is left out: its rule other.P99 is unknown in this version and has no "
             "fallback");
  BOOST_TEST(report.notes()[1] ==
             "rule other.P99 is unknown in this version; MaxPeak replaces it for p99_ns");
  BOOST_TEST(row_of(as_json(report), "web", "p99_ns").at("baseline").to_number<int>() == 9);
}

BOOST_AUTO_TEST_CASE(a_rule_never_reads_cells_of_another_type) {
  Snapshot a = before();
  MetricDef text_metric = metric("lie", "CategoricalString", "Mode");
  text_metric.rule = "SumNs";
  add_text(a, text_metric, {"x", "y", "z", "z"});
  const Report report = compare(a, a);
  BOOST_TEST(report.notes().at(0) ==
             "metric 'lie' is left out: its rule SumNs cannot read cells of type string");
}

BOOST_AUTO_TEST_CASE(a_metric_of_only_one_file_is_null_on_the_other_side) {
  Snapshot a = before(), b = after();
  add_u64(b, metric("extra", "MonotonicNs", "SumNs"), {1, 2, 3, 4});
  const Report report = compare(a, b);
  const json::object row = row_of(as_json(report), "web", "extra");
  BOOST_TEST(row.at("baseline").is_null());
  BOOST_TEST(row.at("candidate").to_number<int>() == 3);
  BOOST_TEST(row.at("delta").is_null());
  BOOST_TEST(json::serialize(row.at("coverage_baseline")) == R"({"values":0,"rows":2})");
  BOOST_REQUIRE(report.absent_metrics().size() == 1);
  BOOST_TEST(
      (report.absent_metrics()[0].is_absent_on[0] && !report.absent_metrics()[0].is_absent_on[1]));
}

BOOST_AUTO_TEST_CASE(a_metric_that_does_not_apply_has_no_row_and_no_effect_on_coverage) {
  Snapshot a = before();
  add_u64(a, metric("leader_only", "GaugeCount", "MaxGaugeCount"), {2, {}, {}, {}},
          Gap::NotApplicable);
  const json::object report = as_json(compare(a, a));
  BOOST_TEST(json::serialize(row_of(report, "web", "leader_only").at("coverage_baseline")) ==
             R"({"values":1,"rows":1})");
  for (const json::value& row : report.at("rows").as_array())
    BOOST_TEST(
        (row.at("metric").as_string() != "leader_only" || row.at("group").as_string() == "web"));
}

BOOST_AUTO_TEST_CASE(compares_maps_key_by_key) {
  const MetricDef def = metric("process.memory", "KibMap", "MapSum", Entity::Process);
  Snapshot a = before(), b = after();
  add_map(a, def, {MapValue{{"Pss", 100}, {"Rss", 200}}, MapValue{{"Rss", 5}}, MapValue{}});
  add_map(b, def, {MapValue{{"Rss", 150}, {"Swap", 1}}, MapValue{{"Rss", 5}}, MapValue{}});
  const Report report = compare(a, b, {.metrics = {"process.memory"}, .only_changed = true});
  BOOST_TEST(order_of(report) == std::vector<std::string>{"web process.memory"},
             boost::test_tools::per_element());
  BOOST_TEST(report.sections()[0].unchanged_rows == 1);
  const json::object row = row_of(as_json(report), "web", "process.memory");
  BOOST_TEST(json::serialize(row.at("baseline")) == R"({"Pss":100,"Rss":200})");
  BOOST_TEST(json::serialize(row.at("delta")) == R"({"Rss":-50})");
  const auto parts = report.changes().map_changes(report.sections()[0].rows[0].group,
                                                  report.sections()[0].rows[0].metric, 1);
  BOOST_REQUIRE(parts.size() == 3);
  BOOST_TEST(
      (parts[0].key == "Pss" && has_value(parts[0].baseline) && !has_value(parts[0].candidate)));
  BOOST_TEST((parts[1].key == "Rss" && parts[1].difference.real == -50));
  BOOST_TEST((parts[2].key == "Swap" && !has_value(parts[2].baseline)));
}

BOOST_AUTO_TEST_CASE(host_metrics_have_one_row) {
  Snapshot a = before(), b = after();
  MetricDef def = metric("host.load", "GaugeRatio100", "MaxRatio", Entity::Host);
  def.section = "host-pressure";
  def.unit = "centipercent";
  for (Snapshot* s : {&a, &b}) s->table(Entity::Host).rows = 1;
  add_u64(a, def, {150});
  add_u64(b, def, {1234});
  const json::object row = row_of(as_json(compare(a, b)), "host", "host.load");
  BOOST_TEST(row.at("unit").as_string() == "percent");
  BOOST_TEST(row.at("candidate").to_number<double>() == 12.34);
  BOOST_TEST(row.at("threads_baseline").to_number<int>() == 4);
}

BOOST_AUTO_TEST_CASE(shows_differences_between_hosts) {
  Snapshot a = before(), b = after();
  BOOST_TEST(as_json(compare(a, b)).at("host_diff").is_null());
  a.objects["host"] =
      R"({"kernel_release":"6.1.0","memory_kb":7,"memory_kib":7,"online_cpus":4,"sched_tunables":{"x":"1"}})";
  b.objects["host"] =
      R"({"kernel_release":"6.18.5","memory_kb":8,"memory_kib":8,"online_cpus":4,"sched_tunables":{"x":"2"}})";
  BOOST_TEST(json::serialize(as_json(compare(a, b)).at("host_diff")) ==
             R"([{"key":"kernel_release","baseline":"6.1.0","candidate":"6.18.5"},)"
             R"({"key":"memory_kib","baseline":7,"candidate":8},)"
             R"({"key":"sched_tunables.x","baseline":"1","candidate":"2"}])");
}

BOOST_AUTO_TEST_CASE(show_has_the_same_rows_for_one_side) {
  const Snapshot a = before();
  const Snapshot* sides[] = {&a};
  const auto report = Report::make(sides, {}, {&rules, {}});
  BOOST_REQUIRE(report);
  const json::object document = as_json(*report);
  BOOST_TEST(
      json::serialize(row_of(document, "web", "nr_migrations")) ==
      R"({"section":"primary","group":"web","metric":"nr_migrations","unit":"count","per_second":false,"value":1,"runs":1,"threads":2,)"
      R"("coverage":{"values":1,"rows":2},"parts":null,"busiest":{"tid":1,"comm":"web"},"extras":null})");
  BOOST_TEST(order_of(*report).front() == "db thread_count");
  BOOST_TEST(!document.contains("only_baseline"));
}

BOOST_AUTO_TEST_CASE(hostile_names_make_valid_json) {
  const Snapshot a = snapshot_of(
      {{1, 1, "a\xff\x1b[2J\n\"", "x"}, {2, 2, "", "y"}, {3, 3, "\xe2\x80\xaetxt", "z"}});
  const json::object report = as_json(compare(a, a));
  BOOST_TEST(report.at("rows").as_array().size() == 3);
  const json::object row = row_of(report, "a\xef\xbf\xbd\x1b[2J\n\"", "thread_count");
  BOOST_TEST(row.at("baseline").to_number<int>() == 1);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace
}  // namespace ctprof::compare_test
