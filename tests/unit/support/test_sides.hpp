// Builds sides with several runs from one-thread processes, and reports about them.

#pragma once

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/compare/report/report.hpp"
#include "core/compare/request/expressions.hpp"
#include "core/render/report_csv.hpp"
#include "core/render/report_json.hpp"
#include "tests/unit/support/test_snapshots.hpp"

namespace ctprof::test_sides {

namespace json = boost::json;
using hand_made::add_i64;
using hand_made::add_map;
using hand_made::add_text;
using hand_made::add_u64;
using hand_made::Cells;
using hand_made::MapValue;
using hand_made::metric;
using hand_made::snapshot_of;
using hand_made::Thread;

inline constexpr std::uint64_t kSecond = 1'000'000'000;

inline const MetricDef kRun = metric("run_time_ns", "MonotonicNs", "SumNs"),
                       kHeap = metric("heap", "GaugeBytes", "SumGaugeBytes"),
                       kPolicy = metric("policy", "CategoricalString", "Mode"),
                       kNice = metric("nice", "OrdinalI32", "RangeI32");

inline MetricDef stats_metric() {
  MetricDef def = metric("stats", "CountMap", "MapMixed");
  def.map_keys = "gauge bytes: size";
  return def;
}
inline const MetricDef kStats = stats_metric();
inline const RuleSet kRuleSet;

// The values of a process with one thread.
struct ProcessValues {
  std::string name;
  std::optional<std::uint64_t> run, heap;
  std::string policy = "OTHER";
  std::int64_t nice = 0;
  MapValue stats{};
};

inline Snapshot run_of(const std::vector<ProcessValues>& processes) {
  std::vector<Thread> threads;
  Cells<std::uint64_t> runs, heaps;
  Cells<std::string> policies;
  Cells<std::int64_t> nices;
  Cells<MapValue> maps;
  for (const ProcessValues& one : processes) {
    threads.push_back({threads.size() + 1, threads.size() + 1, one.name, one.name});
    runs.push_back(one.run);
    heaps.push_back(one.heap);
    policies.push_back(one.policy);
    nices.push_back(one.nice);
    maps.push_back(one.stats);
  }
  Snapshot snapshot = snapshot_of(threads);
  add_u64(snapshot, kRun, runs);
  add_u64(snapshot, kHeap, heaps);
  add_text(snapshot, kPolicy, policies);
  add_i64(snapshot, kNice, nices);
  add_map(snapshot, kStats, maps);
  return snapshot;
}

// Returns a window of this length whose counters are already differences.
inline Snapshot window_of(std::uint64_t seconds, const std::vector<ProcessValues>& processes) {
  Snapshot snapshot = run_of(processes);
  snapshot.meta.start.boottime_ns = (100 + seconds) * kSecond;
  Window window;
  window.opened_at.boottime_ns = 100 * kSecond;
  window.living_threads = processes.size();
  for (std::size_t entity = 0; entity < kEntities; ++entity)
    window.openings[entity].started.assign(snapshot.tables[entity].rows, 0);
  snapshot.window = std::move(window);
  return snapshot;
}

struct ReportOptions {
  std::vector<std::size_t> sizes{};
  std::string fail_on{};
  std::string where{};
  GroupBy by = GroupBy::Pcomm;
};

inline Report report_of(const std::vector<Snapshot>& runs, const ReportOptions& options) {
  Spec spec;
  spec.side_sizes = options.sizes;
  spec.group_by = options.by;
  if (!options.fail_on.empty())
    spec.fail_on.push_back(*parse_fail_on(options.fail_on, options.sizes.size() > 1));
  if (!options.where.empty()) BOOST_REQUIRE(add_condition(spec.where, options.where));
  std::vector<const Snapshot*> pointers;
  for (const Snapshot& run : runs) pointers.push_back(&run);
  auto report = Report::make(pointers, spec, {&kRuleSet, {}});
  BOOST_REQUIRE_MESSAGE(report, report.error().text);
  return std::move(*report);
}

inline json::value report_json(const Report& report) {
  StringSink sink;
  const std::vector<std::string> files(report.sides().size(), "file");
  BOOST_REQUIRE(write_report_json(report, files, sink));
  return json::parse(sink.text());
}

inline std::string report_csv(const Report& report) {
  StringSink sink;
  BOOST_REQUIRE(write_report_csv(report, sink));
  return sink.text();
}

// Returns one JSON member of the row with this group and metric in `table`.
inline std::string json_member(const json::value& report, const std::string& group,
                               const std::string& metric, const std::string& name,
                               const std::string& table = "rows") {
  for (const json::value& row : report.at(table).as_array())
    if (row.at("group").as_string() == group && row.at("metric").as_string() == metric)
      return json::serialize(row.at(name));
  return "no row";
}

inline std::vector<Snapshot> runs_of(std::vector<std::vector<ProcessValues>> all) {
  std::vector<Snapshot> runs;
  for (const auto& one : all) runs.push_back(run_of(one));
  return runs;
}

}  // namespace ctprof::test_sides
