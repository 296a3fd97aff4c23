// Builds a window of a few threads, and reports about it.

#pragma once

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/render/columns.hpp"
#include "core/render/report_json.hpp"
#include "core/render/report_text.hpp"
#include "core/window/differences.hpp"
#include "core/window/make_window.hpp"
#include "tests/unit/support/test_snapshots.hpp"

namespace ctprof::window_report {

using hand_made::add_bool;
using hand_made::add_i64;
using hand_made::add_map;
using hand_made::add_text;
using hand_made::add_u64;
using hand_made::Cells;
using hand_made::MapValue;
using hand_made::metric;
using hand_made::snapshot_of;
using hand_made::Thread;

inline constexpr std::uint64_t kSecond = 1'000'000'000, kMs = 1'000'000;
inline const RuleSet kRuleSet;

inline MetricDef with_role(MetricDef def, std::string role) {
  def.role = std::move(role);
  return def;
}
inline MetricDef as_setting(MetricDef def) {
  def.is_setting = true;
  return def;
}
inline MetricDef host_metric(const std::string& role) {
  return with_role(metric("h." + role, "MonotonicNs", "SumNs", Entity::Host), role);
}

inline const MetricDef kRun = with_role(metric("run", "MonotonicNs", "SumNs"), "run-time"),
                       kWait = with_role(metric("wait", "MonotonicNs", "SumNs"), "wait-time"),
                       kState = with_role(metric("state", "Char", "ModeChar"), "state"),
                       kNice = as_setting(metric("nice", "OrdinalI32", "RangeI32")),
                       kHeap = metric("heap", "GaugeBytes", "SumGaugeBytes"),
                       kCostly = metric("costly", "Bytes", "SumBytes"),
                       kCpus =
                           with_role(metric("h.cpus", "GaugeCount", "MaxGaugeCount", Entity::Host),
                                     "host-cpus"),
                       kStealSeparate =
                           with_role(metric("h.steal_apart", "Flag", "ModeBool", Entity::Host),
                                     "host-steal-apart");

// Thread 1 exists throughout, 2 exits, 3 starts, and 4 is old but was not listed at the opening.
struct WindowEnds {
  Snapshot before = snapshot_at(10, {{1, 1, "web", "worker1"}, {2, 2, "job", "job"}}, {5, 5});
  Snapshot after = snapshot_at(
      20, {{1, 1, "web", "worker1"}, {3, 3, "job", "job"}, {4, 4, "old", "old"}}, {5, 1500, 6});
  ExitedThreads ended;

  WindowEnds() {
    add_u64(before, kRun, {100 * kMs, 0});
    add_u64(before, kWait, {50 * kMs, 0});
    add_u64(after, kRun, {2100 * kMs, 500 * kMs, 7});
    add_u64(after, kWait, {1050 * kMs, 0, 7});
    add_text(before, kState, {"S", "S"});
    add_text(after, kState, {"S", "S", "S"});
    add_u64(before, kHeap, {4096, 1});
    add_u64(after, kHeap, {12288, 100, 8});
    ended.rows = snapshot_at(18, {{2, 2, "job", "job"}}, {5});
    add_u64(ended.rows, kRun, {5 * kSecond});
    add_u64(ended.rows, kWait, {kSecond});
    ended.exit_ns = {18 * kSecond};
    ended.has_source = true;
  }

  static Snapshot snapshot_at(std::uint64_t second, const std::vector<Thread>& threads,
                              const Cells<std::uint64_t>& starts) {
    Snapshot snapshot = snapshot_of(threads);
    add_u64(snapshot, identity_metric(kStartTime), starts);
    snapshot.meta.boot_id = "b";
    snapshot.meta.hostname = "box";
    snapshot.meta.start = {1'785'499'200 * kSecond + second * kSecond, second * kSecond};
    snapshot.read_at.assign(threads.size(), 1);
    snapshot.table(Entity::Host).rows = 1;
    return snapshot;
  }

  void add_host(const MetricDef& def, std::uint64_t opening_value, std::uint64_t end_value) {
    add_u64(before, def, {opening_value});
    add_u64(after, def, {end_value});
  }
  // Ten seconds on two CPUs with 11 s of idle time.
  void add_host() {
    add_host(host_metric("host-wall"), 10 * kSecond, 20 * kSecond);
    add_host(kCpus, 2, 2);
    add_host(host_metric("host-idle"), kSecond, 12 * kSecond);
    add_host(host_metric("host-iowait"), 0, 500 * kMs);
    add_host(host_metric("host-steal"), 0, 200 * kMs);
  }

  Snapshot window() {
    auto made = make_window(before, std::move(after), std::move(ended));
    BOOST_REQUIRE(made);
    convert_to_differences(*made);
    return std::move(*made);
  }
};

inline Report report_of(const Snapshot& window, Spec spec = {}) {
  const Snapshot* side = &window;
  auto report = Report::make({&side, 1}, spec, {&kRuleSet, {}});
  BOOST_REQUIRE_MESSAGE(report, report.error().text);
  return std::move(*report);
}

inline std::string text_of(const Snapshot& window, Spec spec, std::size_t width = 0) {
  const std::string files[] = {"run.zst"};
  return format_report_text(report_of(window, std::move(spec)), files,
                            get_default_columns(ReportKind::Show), {.width = width});
}

class TextSink final : public Sink {
 public:
  Result<void> write(std::string_view more) override {
    text += more;
    return {};
  }
  std::string text;
};

inline boost::json::value json_of(const Snapshot& window, Spec spec = {}) {
  const std::string files[] = {"run.zst"};
  TextSink text_sink;
  BOOST_REQUIRE(write_report_json(report_of(window, std::move(spec)), files, text_sink));
  return boost::json::parse(text_sink.text);
}

}  // namespace ctprof::window_report
