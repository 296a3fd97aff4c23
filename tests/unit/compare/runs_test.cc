// Tests runs and sides: the results of a run outlive its snapshot, two halves of a host merge to
// the whole, and each side is compared with the first.

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>
#include <memory>
#include <string>

#include "core/compare/figures/plan_metrics.hpp"
#include "core/compare/report/report.hpp"
#include "core/compare/request/expressions.hpp"
#include "core/render/report_csv.hpp"
#include "core/render/report_json.hpp"
#include "core/render/report_text.hpp"
#include "tests/unit/support/test_snapshots.hpp"

namespace ctprof::runs_test {
namespace {

namespace json = boost::json;
using namespace hand_made;

const MetricDef kRunTime = metric("run_time_ns", "MonotonicNs", "SumNs");
const MetricDef kPolicy = metric("policy", "CategoricalString", "Mode");
const MetricDef kCpus = metric("cpus", "CpuSet", "Affinity");
const MetricDef kLongest = metric("longest_ns", "PeakNs", "MaxPeak");
const MetricDef kNice = metric("nice", "OrdinalI32", "RangeI32");
const MetricDef kEvents = metric("process.events", "CountMap", "MapSum", Entity::Process);

// State of a plugin rule that keeps pointers to the maps that it received, which the ABI permits.
struct SeenMap {
  const ctprof_entry* entries;
  std::size_t count;
};
void add_map_rows(void* states, const ctprof_rows* rows) {
  for (std::uint64_t row = 0; row < rows->count; ++row) {
    if (rows->groups[row] == UINT32_MAX) continue;
    SeenMap& seen = static_cast<SeenMap*>(states)[rows->groups[row]];
    seen.entries =
        rows->map(rows->core, static_cast<const std::uint32_t*>(rows->values)[row], &seen.count);
  }
}
void merge_maps(void* into, const void* from) {
  if (static_cast<const SeenMap*>(from)->entries)
    *static_cast<SeenMap*>(into) = *static_cast<const SeenMap*>(from);
}
void write_keys(const void* state, const ctprof_sink* out) {
  const SeenMap& seen = *static_cast<const SeenMap*>(state);
  std::string keys;
  for (std::size_t i = 0; i < seen.count; ++i)
    keys += std::string(seen.entries[i].key.data, seen.entries[i].key.size) + ";";
  keys = "\"" + keys + "\"";
  out->put(out->core, keys.data(), keys.size());
}
ctprof_rule make_key_rule() {
  ctprof_rule rule{};
  rule.size = sizeof rule;
  rule.state_size = sizeof(SeenMap);
  rule.name = "Seeing";
  rule.newtypes = "CountMap";
  rule.add = add_map_rows;
  rule.merge = merge_maps;
  rule.json = write_keys;
  return rule;
}
const ctprof_rule kKeyRule = make_key_rule();
RuleSet rules_with_plugin() {
  RuleSet rules;
  rules.add(kKeyRule, "third", "/third.so");
  return rules;
}
const RuleSet kRuleSet = rules_with_plugin();

struct Worker {
  std::uint64_t tgid, tid;
  std::string pcomm, policy;
  std::uint64_t run_time, longest, cpus;
  std::int64_t nice;
};

Snapshot host_with(const std::vector<Worker>& workers) {
  std::vector<Thread> threads;
  Cells<std::uint64_t> run_times, longest, cpus;
  Cells<std::int64_t> nice;
  Cells<std::string> policies;
  Cells<MapValue> events;
  for (const Worker& w : workers) {
    if (threads.empty() || threads.back().tgid != w.tgid)
      events.push_back(MapValue{{"low", w.tid}, {"of_" + w.pcomm, w.run_time}});
    threads.push_back({w.tgid, w.tid, w.pcomm, w.pcomm});
    run_times.push_back(w.run_time ? std::optional(w.run_time) : std::nullopt);
    longest.push_back(w.longest);
    cpus.push_back(w.cpus);
    nice.push_back(w.nice);
    policies.push_back(w.policy);
  }
  Snapshot s = snapshot_of(threads);
  add_u64(s, kRunTime, run_times);
  add_u64(s, kLongest, longest);
  add_bits(s, kCpus, cpus);
  add_i64(s, kNice, nice);
  add_text(s, kPolicy, policies);
  add_map(s, kEvents, events);
  add_map(s, metric("process.seen", "CountMap", "Seeing", Entity::Process), events);
  DerivedDef& share = s.derived.emplace_back();
  share.name = "share";
  share.expression = "longest_ns / run_time_ns";
  share.unit = "ratio";
  return s;
}

const std::vector<Worker> kWorkers{
    {1, 1, "web", "SCHED_OTHER_of_some_length", 100, 7, 3, 0},
    {1, 2, "web", "SCHED_FIFO_of_some_length", 200, 90, 3, -5},
    {5, 5, "db", "SCHED_OTHER_of_some_length", 1000, 2, 1, 3},
    {8, 8, "web", "SCHED_FIFO_of_some_length", 40, 1, 5, 9},
    {9, 9, "db", "SCHED_BATCH_of_some_length", 0, 11, 1, 0},  // its run time is missing
};

std::string json_of(const Report& report) {
  StringSink sink;
  const std::vector<std::string> files(report.sides().size(), "file");
  BOOST_REQUIRE(write_report_json(report, files, sink));
  return sink.text();
}

Report make_report(const std::vector<const Snapshot*>& sides, const Spec& spec = {}) {
  auto report = Report::make(sides, spec, {&kRuleSet, {}});
  BOOST_REQUIRE_MESSAGE(report, report.error().text);
  return std::move(*report);
}

BOOST_AUTO_TEST_SUITE(runs_test)

BOOST_AUTO_TEST_CASE(a_report_outlives_its_snapshots) {
  auto a = std::make_unique<Snapshot>(host_with(kWorkers)),
       b = std::make_unique<Snapshot>(host_with({kWorkers.begin() + 1, kWorkers.end()}));
  a->meta.boot_id = b->meta.boot_id = "boot";
  const Report report = make_report({a.get(), b.get()});
  const std::string before = json_of(report);
  a.reset();
  b.reset();
  BOOST_TEST(json_of(report) == before);
  const std::vector<std::string> files{"a", "b"};
  BOOST_TEST(
      format_report_text(report, files, get_default_columns(ReportKind::Compare), {}).size() > 100);
  BOOST_TEST(before.find("SCHED_FIFO_of_some_length") != before.npos);
  BOOST_TEST(before.find(R"("low;of_web;")") != before.npos);
}

// Returns the results of all groups as text.
std::vector<std::string> result_lines(const Rollup& rollup, const Grouping& grouping,
                                      const MetricPlan& plan) {
  std::vector<std::string> lines;
  for (std::uint32_t group = 0; group < grouping.names.size(); ++group)
    for (std::size_t metric = 0; metric < plan.metrics.size(); ++metric) {
      const CellPosition at{0, group, metric};
      const Coverage coverage = rollup.read(at).coverage;
      std::string line = grouping.names[group] + " " + plan.metrics[metric].name + " ";
      rollup.append_json(line, at);
      line += " " + std::to_string(coverage.values) + "/" + std::to_string(coverage.rows) + " ";
      rollup.append_extras(line, at);
      if (const BusiestThread* busiest = rollup.get_busiest_thread(at))
        line += " " + std::to_string(busiest->tid);
      lines.push_back(line);
    }
  return lines;
}

struct ReducedRun {
  RunGroups groups;
  RunFigures figures;
};

// Reduces a host whose snapshot is destroyed when the function returns.
ReducedRun reduce_run(const std::vector<Worker>& workers, RowGrouper& grouper,
                      const MetricPlan& plan) {
  const Snapshot snapshot = host_with(workers);
  const RowGroups rows = grouper.add(snapshot);
  return {rows.groups,
          RunFigures(snapshot, rows, plan, std::vector<bool>(plan.metrics.size()), {})};
}

BOOST_AUTO_TEST_CASE(two_halves_of_a_host_merge_to_the_whole) {
  const Snapshot sample_host = host_with(kWorkers);
  const Snapshot* sides[] = {&sample_host};
  const auto plan = plan_metrics(sides, {}, {&kRuleSet, {}});
  BOOST_REQUIRE(plan);
  for (std::size_t cut = 1; cut < kWorkers.size(); ++cut) {
    if (kWorkers[cut - 1].tgid == kWorkers[cut].tgid) continue;
    RowGrouper groups{Spec{}};
    const auto middle = kWorkers.begin() + static_cast<std::ptrdiff_t>(cut);
    ReducedRun whole = reduce_run(kWorkers, groups, *plan);
    ReducedRun first = reduce_run({kWorkers.begin(), middle}, groups, *plan),
               second = reduce_run({middle, kWorkers.end()}, groups, *plan);
    first.figures.merge(second.figures);
    const auto lines = [&](RunFigures figures) {
      const RunGroups run_groups = figures.groups();
      const RunGroups* joined[] = {&run_groups};
      const Grouping grouping = join(groups, joined, GroupBy::Pcomm);
      std::vector<RunFigures> runs;
      runs.push_back(std::move(figures));
      return result_lines(Rollup(std::move(runs), divide_into_sides({}, 1), {}, grouping, *plan),
                          grouping, *plan);
    };
    BOOST_TEST(lines(std::move(whole.figures)) == lines(std::move(first.figures)),
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(finds_name_patterns_across_all_runs) {
  RowGrouper groups{Spec{}};
  const auto named = [&](const std::string& pcomm) {
    return groups.add(snapshot_of({{1, 1, pcomm, pcomm}})).groups;
  };
  const RunGroups a = named("worker-1"), b = named("worker-2"), c = named("cron");
  const RunGroups* sides[] = {&a, &b, &c};
  const Grouping grouping = join(groups, sides, GroupBy::Pcomm);
  BOOST_TEST(grouping.names == (std::vector<std::string>{"cron", "worker-{N}"}),
             boost::test_tools::per_element());
  BOOST_TEST((grouping.has_group(0, 1) && grouping.has_group(1, 1) && !grouping.has_group(2, 1)));
}

BOOST_AUTO_TEST_CASE(compares_each_of_three_sides_with_the_first) {
  Snapshot sides[3];
  const std::uint64_t run_times[] = {100, 150, 80};
  for (std::size_t i = 0; i < 3; ++i) {
    sides[i] = snapshot_of({{1, 1, "web", "web"}, {2, 2, i < 2 ? "db" : "cache", "db"}});
    add_u64(sides[i], kRunTime, {run_times[i], 7});
  }
  const Report report = make_report(
      {&sides[0], &sides[1], &sides[2]},
      {.metrics = {"run_time_ns"}, .fail_on = {*parse_fail_on("run_time_ns.pct < -10")}});
  const json::object document = json::parse(json_of(report)).as_object();
  const json::object& row = document.at("rows").as_array().at(0).as_object();
  BOOST_TEST(row.at("group").as_string() == "web");
  BOOST_TEST(row.at("baseline").to_number<int>() == 100);
  BOOST_TEST(row.at("candidate").to_number<int>() == 150);
  BOOST_TEST(row.at("candidate_2").to_number<int>() == 80);
  BOOST_TEST(row.at("delta").to_number<int>() == 50);
  BOOST_TEST(row.at("delta_2").to_number<int>() == -20);
  BOOST_TEST(row.at("pct_2").to_number<double>() == -0.2);
  // Two of three sides have db; only one has cache.
  BOOST_TEST(document.at("rows").as_array().size() == 2);
  BOOST_TEST(document.at("rows").as_array().at(1).at("candidate_2").is_null());
  BOOST_TEST(document.at("only_baseline").as_array().empty());
  BOOST_TEST(document.at("only_candidate_2").as_array().size() == 1);
  // --fail-on checks each candidate.
  BOOST_TEST(document.at("failed").as_array().size() == 1);
  StringSink sink;
  BOOST_REQUIRE(write_report_csv(report, sink));
  const std::string& csv = sink.text();
  BOOST_TEST(csv.find("baseline,candidate,candidate_2,delta,pct,delta_2,pct_2") != csv.npos);
  const std::vector<std::string> files{"a", "b", "c"};
  const std::string text =
      format_report_text(report, files, get_default_columns(ReportKind::Compare), {});
  BOOST_TEST(text.find("100ns → 150ns → 80ns  +50ns | -20ns") != text.npos, text);
}

Snapshot run_on_host(const std::string& name, const std::string& kernel) {
  Snapshot run = host_with(kWorkers);
  run.meta.hostname = name;
  run.objects["host"] = R"({"cpu_model":"one","kernel_release":")" + kernel + R"("})";
  return run;
}

BOOST_AUTO_TEST_CASE(shows_differences_of_hosts_within_a_side) {
  const Snapshot runs[] = {run_on_host("a", "6.1.0"), run_on_host("b", "6.12.3"),
                           run_on_host("a", "6.1.0"), run_on_host("a", "6.12.3"),
                           run_on_host("a", "6.12.3")};
  const Report report = make_report({&runs[0], &runs[1], &runs[2], &runs[3], &runs[4]},
                                    {.metrics = {"run_time_ns"}, .side_sizes = {3, 2}});
  const json::object document = json::parse(json_of(report)).as_object();
  BOOST_TEST(json::serialize(document.at("host_diff")) ==
             R"([{"key":"kernel_release","baseline":"6.1.0","candidate":"6.12.3",)"
             R"("baseline_runs":[{"value":"6.1.0","runs":2},{"value":"6.12.3","runs":1}]}])");
  const std::vector<std::string> files{"before", "after"};
  const std::string text =
      format_report_text(report, files, get_default_columns(ReportKind::Compare), {});
  BOOST_TEST(text.find("a and 1 other") != text.npos, text);
  BOOST_TEST(text.find("6.1.0 (2 runs), 6.12.3 (1 run)  6.12.3\n") != text.npos, text);
}

BOOST_AUTO_TEST_CASE(shows_differences_within_one_side_if_the_first_hosts_are_equal) {
  const Snapshot runs[] = {run_on_host("a", "6.1.0"), run_on_host("a", "6.12.3"),
                           run_on_host("a", "6.1.0")};
  const auto differences =
      host_differences(std::vector{collect_run_facts(runs[0]), collect_run_facts(runs[1])},
                       std::vector{collect_run_facts(runs[2])});
  BOOST_REQUIRE(differences);
  BOOST_REQUIRE(differences->size() == 1);
  BOOST_TEST(differences->front().baseline.size() == 2);
  BOOST_TEST(differences->front().candidate.front().json.value() == R"("6.1.0")");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::runs_test
