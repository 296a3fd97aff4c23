// What is told of a window: blocked time, accounting, settings, gauges at both ends, its heading.

#define BOOST_TEST_MODULE window_told
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>

#include "core/render/columns.hpp"
#include "core/render/report_csv.hpp"
#include "core/render/report_json.hpp"
#include "core/render/report_text.hpp"
#include "core/render/window_text.hpp"
#include "core/window/accounting.hpp"
#include "core/window/happened.hpp"
#include "core/window/make_window.hpp"
#include "tests/unit/hand_made.hpp"

namespace ctprof {
namespace {

using namespace hand_made;

constexpr std::uint64_t kSecond = 1'000'000'000, kMs = 1'000'000;
const RuleBook book;

MetricDef with_role(MetricDef def, std::string role) {
  def.role = std::move(role);
  return def;
}
MetricDef setting(MetricDef def) {
  def.setting = true;
  return def;
}
MetricDef of_host(const std::string& role) {
  return with_role(metric("h." + role, "MonotonicNs", "SumNs", Entity::Host), role);
}

const MetricDef kRun = with_role(metric("run", "MonotonicNs", "SumNs"), "run-time"),
                kWait = with_role(metric("wait", "MonotonicNs", "SumNs"), "wait-time"),
                kState = with_role(metric("state", "Char", "ModeChar"), "state"),
                kNice = setting(metric("nice", "OrdinalI32", "RangeI32")),
                kHeap = metric("heap", "GaugeBytes", "SumGaugeBytes"),
                kCostly = metric("costly", "Bytes", "SumBytes"),
                kCpus = with_role(metric("h.cpus", "GaugeCount", "MaxGaugeCount", Entity::Host),
                                  "host-cpus"),
                kStealApart = with_role(metric("h.steal_apart", "Flag", "ModeBool", Entity::Host),
                                        "host-steal-apart");

// Thread 1 lives throughout, 2 ends, 3 is born, 4 is old and was not met when the window opened.
struct Ends {
  Snapshot before = at(10, {{1, 1, "web", "worker1"}, {2, 2, "job", "job"}}, {5, 5});
  Snapshot after =
      at(20, {{1, 1, "web", "worker1"}, {3, 3, "job", "job"}, {4, 4, "old", "old"}}, {5, 1500, 6});
  Ended ended;

  Ends() {
    add_u64(before, kRun, {100 * kMs, 0});
    add_u64(before, kWait, {50 * kMs, 0});
    add_u64(after, kRun, {2100 * kMs, 500 * kMs, 7});
    add_u64(after, kWait, {1050 * kMs, 0, 7});
    add_text(before, kState, {"S", "S"});
    add_text(after, kState, {"S", "S", "S"});
    add_u64(before, kHeap, {4096, 1});
    add_u64(after, kHeap, {12288, 100, 8});
    ended.rows = at(18, {{2, 2, "job", "job"}}, {5});
    add_u64(ended.rows, kRun, {5 * kSecond});
    add_u64(ended.rows, kWait, {kSecond});
    ended.at_ns = {18 * kSecond};
    ended.told = true;
  }

  static Snapshot at(std::uint64_t second, const std::vector<Thread>& threads,
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

  void add_host(const MetricDef& def, std::uint64_t then, std::uint64_t now) {
    add_u64(before, def, {then});
    add_u64(after, def, {now});
  }
  // Ten seconds of two CPUs, 11 s of them idle.
  void add_host() {
    add_host(of_host("host-wall"), 10 * kSecond, 20 * kSecond);
    add_host(kCpus, 2, 2);
    add_host(of_host("host-idle"), kSecond, 12 * kSecond);
    add_host(of_host("host-iowait"), 0, 500 * kMs);
    add_host(of_host("host-steal"), 0, 200 * kMs);
  }

  Snapshot window() {
    auto made = make_window(before, std::move(after), std::move(ended));
    BOOST_REQUIRE(made);
    to_differences(*made);
    return std::move(*made);
  }
};

Report report_of(const Snapshot& window, Spec spec = {}) {
  const Snapshot* side = &window;
  auto report = Report::make({&side, 1}, spec, {&book, {}});
  BOOST_REQUIRE_MESSAGE(report, report.error().text);
  return std::move(*report);
}

std::string text_of(const Snapshot& window, Spec spec, std::size_t width = 0) {
  const std::string files[] = {"run.zst"};
  return report_text(report_of(window, std::move(spec)), files, default_columns(ReportKind::Show),
                     {.width = width});
}

class Kept final : public Sink {
 public:
  Result<void> write(std::string_view more) override {
    text += more;
    return {};
  }
  std::string text;
};

boost::json::value json_of(const Snapshot& window, Spec spec = {}) {
  const std::string files[] = {"run.zst"};
  Kept kept;
  BOOST_REQUIRE(write_report_json(report_of(window, std::move(spec)), files, kept));
  return boost::json::parse(kept.text);
}

BOOST_AUTO_TEST_CASE(what_a_thread_did_not_run_or_wait_it_was_blocked) {
  const Snapshot told = Ends().window();
  const Column* blocked = told.threads().find("blocked_time_ns");
  BOOST_REQUIRE(blocked);
  BOOST_TEST(blocked->u64()[0] == 7 * kSecond);
  BOOST_TEST(blocked->u64()[1] == 4500 * kMs + 1);  // born at 15 s
  BOOST_CHECK(blocked->gap(2) == Gap::NoBase);
  BOOST_TEST(blocked->u64()[3] == 2 * kSecond - 1);  // ended at 18 s, of which it ran 5
  const auto report = report_of(told, {.metrics = {"blocked_share"}});
  BOOST_REQUIRE(!report.sections().empty());
}

BOOST_AUTO_TEST_CASE(blocked_time_is_never_below_zero_and_needs_the_times_of_reading) {
  Ends ends;
  for (Column& column : ends.after.threads().columns)
    if (column.def().name == "run") column.u64()[0] = 100 * kSecond;
  BOOST_TEST(ends.window().threads().find("blocked_time_ns")->u64()[0] == 0u);
  Ends untimed;
  untimed.before.read_at.clear();
  BOOST_TEST(!untimed.window().threads().find("blocked_time_ns"));
}

BOOST_AUTO_TEST_CASE(the_hosts_busy_time_is_that_of_the_rows_and_a_rest) {
  Ends ends;
  ends.add_host();
  const auto cpu = account(ends.window());
  BOOST_REQUIRE(cpu);
  BOOST_TEST(cpu->cpus == 2u);
  BOOST_TEST(cpu->wall == 10.0 * kSecond);
  BOOST_TEST(cpu->busy == 8.5 * kSecond);
  BOOST_TEST(cpu->living == 2.5 * kSecond);
  BOOST_TEST(cpu->ended == 5.0 * kSecond);
  BOOST_TEST(cpu->unexplained == 1.0 * kSecond);
  BOOST_TEST(cpu->error == 0.2 * kSecond);
  BOOST_TEST(!cpu->steal_apart);
}

BOOST_AUTO_TEST_CASE(what_the_kernel_keeps_apart_is_no_part_of_busy) {
  Ends ends;
  ends.add_host();
  add_bool(ends.before, kStealApart, {true});
  add_bool(ends.after, kStealApart, {true});
  const auto cpu = account(ends.window());
  BOOST_REQUIRE(cpu);
  BOOST_TEST(cpu->steal_apart);
  BOOST_TEST(cpu->busy == 8.3 * kSecond, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(without_the_figures_of_the_host_there_is_no_accounting) {
  BOOST_TEST(!account(Ends().window()));
}

BOOST_AUTO_TEST_CASE(shares_are_over_the_time_between_a_threads_own_readings) {
  Ends ends;
  ends.add_host();
  ends.after.read_at.assign(3, 10 * kSecond);  // threads were read 10 s after the host
  const auto cpu = account(ends.window());
  BOOST_REQUIRE(cpu);
  BOOST_TEST(cpu->living == 1.25 * kSecond, boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(a_group_has_all_threads_of_merged_rows) {
  Ends ends;
  add_u64(ends.ended.rows, identity_metric(kThreads), {7});
  const std::string text = text_of(ends.window(), {.metrics = {"thread_count"}});
  BOOST_TEST(text.find("threads 3 → 3, 1 born, 7 ended") == text.npos);  // one that was there
  BOOST_TEST(text.find("7 ended") != text.npos, text);
  BOOST_TEST(text.find("job          8  thread_count      8\n") != text.npos, text);
}

BOOST_AUTO_TEST_CASE(rows_without_a_base_are_counted) {
  Ends ends;
  ends.before.threads().find("state")->ids()[0] = ends.before.pools->texts.intern("R");
  add_u64(ends.after, kCostly, {1, 2, 3});
  const WindowRows rows = count_rows(ends.window());
  BOOST_TEST(rows.before == 3u);
  BOOST_TEST(rows.after == 3u);
  BOOST_TEST(rows.born == 1u);
  BOOST_TEST(rows.ended == 1u);
  BOOST_TEST(rows.in_progress == 1u);
  BOOST_TEST(rows.unmet == 1u);
  BOOST_TEST(rows.unread.size() == 1u);
}

BOOST_AUTO_TEST_CASE(the_heading_tells_who_came_and_who_used_the_cpus) {
  Ends ends;
  ends.add_host();
  BOOST_TEST(text_of(ends.window(), {.metrics = {"run"}}) ==
             "run.zst   10.0 s   2 CPUs   threads 3 → 3, 1 born, 1 ended\n"
             "CPU 85 % of 200 %: 25 % by living threads, 50 % by threads that ended, 10 % not "
             "explained (±2 %); in it 2 % taken by the hypervisor\n"
             "recorded on box until 2026-07-31 12:00:20Z\n"
             "no differences of 1 thread not met when the window opened\n"
             "\n"
             "## primary\n"
             "group  threads  metric   value  readings\n"
             "job          2  run     5.500s\n"
             "web          1  run     2.000s\n"
             "old          1  run          -       0/1\n");
}

BOOST_AUTO_TEST_CASE(a_narrow_screen_breaks_the_heading_between_words) {
  Ends ends;
  ends.add_host();
  const std::string text = text_of(ends.window(), {.metrics = {"run"}}, 60);
  for (std::size_t from = 0, to; from < text.size(); from = to + 1) {
    to = text.find('\n', from);
    BOOST_TEST(display_width(text.substr(from, to - from)) <= 60u);
  }
}

BOOST_AUTO_TEST_CASE(gauges_are_told_with_what_they_grew_by) {
  Ends ends;
  const Snapshot told = ends.window();
  const std::string text = text_of(told, {.metrics = {"heap"}});
  BOOST_TEST(text.find("12.000KiB (+8.000KiB)") != text.npos);
  BOOST_TEST(text.find("100B (new)") != text.npos);  // job: 3 was born, 2 has none any more
  BOOST_TEST(text.find("8B\n") != text.npos);        // old: nobody knows
  const auto json = json_of(told, {.metrics = {"heap"}});
  BOOST_TEST(json.at("rows").as_array().size() == 3u);
  for (const auto& row : json.at("rows").as_array()) {
    const auto& change = row.at("change");
    if (row.at("group") == "web") BOOST_TEST(change.to_number<double>() == 8192);
    if (row.at("group") == "job") BOOST_TEST(change.to_number<double>() == 100);
    if (row.at("group") == "old") BOOST_TEST(change.is_null());
  }
  Kept csv;
  BOOST_REQUIRE(write_report_csv(report_of(told, {.metrics = {"heap"}}), csv));
  BOOST_TEST(csv.text.find("primary,web,heap,,bytes,12288,8192,,1,1,1,,\n") != csv.text.npos);
}

// A map that has both kinds of keys: those that count are differences, gauges say what they grew
// by.
Snapshot window_of_maps(std::string map_keys, const MapValue& then, const MapValue& now,
                        bool was_read = true) {
  MetricDef mixed = metric("kinds", "MixedMap", "MapMixed");
  mixed.map_keys = std::move(map_keys);
  Ends ends;
  if (was_read) add_map(ends.before, mixed, {then, MapValue{{"anon", 1}}});
  add_map(ends.after, mixed, {now, MapValue{{"anon", 100}}, MapValue{{"anon", 8}}});
  return ends.window();
}

BOOST_AUTO_TEST_CASE(gauges_in_maps_are_told_with_what_they_grew_by) {
  const Snapshot told = window_of_maps("gauge bytes: anon file; cumulative count: pg*",
                                       {{"anon", 4096}, {"file", 1024}, {"pgfault", 10}},
                                       {{"anon", 12288}, {"file", 1024}, {"pgfault", 17}});
  const std::string text = text_of(told, {.metrics = {"kinds"}});
  BOOST_TEST(text.find("kinds[anon]     12.000KiB (+8.000KiB)\n") != text.npos, text);
  BOOST_TEST(text.find("kinds[file]                  1.000KiB\n") != text.npos, text);
  BOOST_TEST(text.find("kinds[pgfault]                      7\n") != text.npos, text);
  BOOST_TEST(text.find("100B (new)") != text.npos, text);
  const std::string one = text_of(told, {.metrics = {"kinds[anon]"}});
  BOOST_TEST(one.find("12.000KiB (+8.000KiB)") != one.npos, one);
  const auto json = json_of(told, {.metrics = {"kinds"}});
  for (const auto& row : json.at("rows").as_array()) {
    const auto& change = row.at("change");
    if (row.at("group") == "web")
      BOOST_TEST(change == boost::json::parse(R"({"anon": 8192, "file": 0})"));
    if (row.at("group") == "old") BOOST_TEST(change.is_null());
  }
  Kept csv;
  BOOST_REQUIRE(write_report_csv(report_of(told, {.metrics = {"kinds"}}), csv));
  BOOST_TEST(csv.text.find(",kinds,anon,bytes,12288,8192,") != csv.text.npos, csv.text);
  BOOST_TEST(csv.text.find(",kinds,pgfault,count,7,,") != csv.text.npos, csv.text);
}

BOOST_AUTO_TEST_CASE(gauges_in_maps_that_stood_still_are_told_on_request) {
  const Snapshot told = window_of_maps("gauge bytes: anon file", {{"anon", 9}, {"file", 5}},
                                       {{"anon", 9}, {"file", 0}});
  const std::string moved = text_of(told, {.moved_only = true});
  BOOST_TEST(moved.find(" 9B\n") == moved.npos, moved);
  BOOST_TEST(moved.find("0B (-5B)") != moved.npos, moved);
  const std::string asked = text_of(told, {.metrics = {"kinds"}, .moved_only = true});
  BOOST_TEST(asked.find("kinds[anon]          9B\n") != asked.npos, asked);
}

BOOST_AUTO_TEST_CASE(a_map_of_gauges_needs_no_base) {
  const Snapshot gauges = window_of_maps("gauge bytes: anon", {}, {{"anon", 9}}, false);
  const Snapshot mixed = window_of_maps("gauge bytes: anon", {}, {{"anon", 9}, {"pg", 1}}, false);
  const Column* column = gauges.threads().find("kinds");
  BOOST_TEST(gauges.pools->maps[column->ids()[0]].front().value == 9u);
  BOOST_CHECK(column->has_value(0));
  BOOST_CHECK(mixed.threads().find("kinds")->gap(0) == Gap::NoBase);
}

BOOST_AUTO_TEST_CASE(settings_that_changed_are_told_by_name_and_value) {
  const auto many = [](std::uint64_t second, const char* state, std::int64_t nice) {
    Snapshot snapshot = Ends::at(
        second, {{1, 1, "p", "worker1"}, {1, 2, "p", "worker2"}, {3, 3, "q", "q"}}, {5, 5, 5});
    add_text(snapshot, kState, {state, state, state});
    add_i64(snapshot, kNice, {nice, nice, 0});
    return snapshot;
  };
  auto made = make_window(many(10, "S", 0), many(20, "R", -5), {});
  BOOST_REQUIRE(made);
  to_differences(*made);
  const RunFacts facts = facts_of(*made);
  BOOST_REQUIRE_EQUAL(facts.window->settings.size(), 1u);  // a state is no setting
  const SettingChange& change = facts.window->settings.front();
  BOOST_TEST(change.metric == "nice");
  BOOST_TEST(change.name == "worker{N}");
  BOOST_TEST(change.before.text == "0");
  BOOST_TEST(change.after.text == "-5");
  BOOST_TEST(change.rows == 2u);
  BOOST_TEST(text_of(*made, {.metrics = {"nice"}}).find("nice     0 → -5   worker{N}     2") !=
             std::string::npos);
  const auto json = json_of(*made);
  const auto& told = json.at("snapshot").at("window").at("settings").at(0);
  BOOST_TEST(told.at("after").as_int64() == -5);
}

BOOST_AUTO_TEST_CASE(tunables_of_the_host_that_changed_are_settings) {
  Ends ends;
  ends.before.objects["host"] =
      R"({"thp":"always [madvise]","total_kib":7,"tunables":{"slice":"3","came":"1"},"gone":"1"})";
  ends.after.objects["host"] =
      R"({"thp":"[always] madvise","total_kib":8,"tunables":{"slice":"5","came":"1"},"new":"1"})";
  const Snapshot told = ends.window();
  const auto settings = facts_of(told).window->settings;
  BOOST_REQUIRE_EQUAL(settings.size(), 2u);  // a size is no setting, and what came or went neither
  BOOST_TEST(settings[0].metric == "thp");
  BOOST_TEST(settings[1].metric == "tunables.slice");
  BOOST_TEST(settings[1].before.text == "3");
  BOOST_TEST(settings[1].after.text == "5");
  BOOST_TEST(text_of(told, {.metrics = {"run"}}).find("tunables.slice  3 → 5") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(states_that_a_window_found_and_left_are_told_on_request) {
  const MetricDef peak = metric("longest", "PeakNs", "MaxPeak");
  Ends ends;
  add_u64(ends.before, peak, {7, 7});
  add_u64(ends.after, peak, {7, 7, 7});
  const Snapshot told = ends.window();
  const std::string all = text_of(told, {.moved_only = true});
  BOOST_TEST(all.find("state") == all.npos);
  BOOST_TEST(all.find("zero or unchanged") != all.npos);
  BOOST_TEST(all.find("7ns (ever)") != all.npos);
  BOOST_TEST(text_of(told, {.metrics = {"state"}, .moved_only = true}).find("state") !=
             std::string::npos);
}

RunFacts counted_run(double busy, double unexplained) {
  RunFacts run;
  run.window.emplace();
  run.window->accounting.emplace();
  Accounting& cpu = *run.window->accounting;
  cpu.cpus = 2;
  cpu.wall = 100;
  cpu.busy = busy;
  cpu.unexplained = unexplained;
  cpu.error = 2;
  return run;
}

BOOST_AUTO_TEST_CASE(runs_that_are_explained_are_told_together) {
  const std::vector<RunFacts> runs{counted_run(180, 1), counted_run(199, -2), counted_run(150, 3)};
  BOOST_TEST(is_explained(runs[1]));
  BOOST_TEST(!is_explained(runs[2]));
  BOOST_TEST(explained_in_short(runs, "baseline", 0) ==
             "baseline: CPU 180 to 199 % of 200 %, explained by threads in 2 of 3 runs\n");
  BOOST_TEST(explained_in_short(std::span(runs).first(2), "run", 0) ==
             "run: CPU 180 to 199 % of 200 %, explained by threads in all 2 runs\n");
  BOOST_TEST(explained_in_short(std::span(runs).last(1), "run", 0) == "");
  BOOST_TEST(window_in_short(runs[0], "run 1", 0, false) == "");
  BOOST_TEST(window_in_short(runs[2], "run 3", 0).starts_with("run 3: CPU 150 % of 200 %: "));
}

}  // namespace
}  // namespace ctprof
