// Tests the output of gauges, settings and states at the start and end of a window.

#include <boost/test/unit_test.hpp>
#include <string>

#include "core/compare/figures/run_facts.hpp"
#include "core/render/report_csv.hpp"
#include "core/render/window_text.hpp"
#include "tests/unit/render/window_report.hpp"

namespace ctprof::window_states_output_test {
namespace {

using namespace window_report;

BOOST_AUTO_TEST_SUITE(window_states_output_test)

BOOST_AUTO_TEST_CASE(shows_gauges_with_their_change) {
  WindowEnds ends;
  const Snapshot window_snapshot = ends.window();
  const std::string text = text_of(window_snapshot, {.metrics = {"heap"}});
  BOOST_TEST(text.find("12.000KiB (+8.000KiB)") != text.npos);
  BOOST_TEST(text.find("100B (+99B)") != text.npos);  // job: 3 started, 2 exited with 1
  BOOST_TEST(text.find("8B\n") != text.npos);         // old: change unknown
  const auto json = json_of(window_snapshot, {.metrics = {"heap"}});
  BOOST_TEST(json.at("rows").as_array().size() == 3u);
  for (const auto& row : json.at("rows").as_array()) {
    const auto& change = row.at("change");
    if (row.at("group") == "web") BOOST_TEST(change.to_number<double>() == 8192);
    if (row.at("group") == "job") BOOST_TEST(change.to_number<double>() == 99);
    if (row.at("group") == "old") BOOST_TEST(change.is_null());
  }
  TextSink csv;
  BOOST_REQUIRE(write_report_csv(report_of(window_snapshot, {.metrics = {"heap"}}), csv));
  BOOST_TEST(csv.text.find("primary,web,heap,,bytes,12288,8192,,1,1,1,,\n") != csv.text.npos);
}

// Returns a window with a map that has both kinds of keys: counters show differences, gauges show
// value and change.
Snapshot window_of_maps(std::string map_keys, const MapValue& opening_value,
                        const MapValue& end_value, bool was_read = true) {
  MetricDef mixed = metric("kinds", "MixedMap", "MapMixed");
  mixed.map_keys = std::move(map_keys);
  WindowEnds ends;
  if (was_read) add_map(ends.before, mixed, {opening_value, MapValue{{"anon", 1}}});
  add_map(ends.after, mixed, {end_value, MapValue{{"anon", 100}}, MapValue{{"anon", 8}}});
  return ends.window();
}

BOOST_AUTO_TEST_CASE(shows_gauges_in_maps_with_their_change) {
  const Snapshot window_snapshot =
      window_of_maps("gauge bytes: anon file; cumulative count: pg*",
                     {{"anon", 4096}, {"file", 1024}, {"pgfault", 10}},
                     {{"anon", 12288}, {"file", 1024}, {"pgfault", 17}});
  const std::string text = text_of(window_snapshot, {.metrics = {"kinds"}});
  BOOST_TEST(text.find("kinds[anon]     12.000KiB (+8.000KiB)\n") != text.npos, text);
  BOOST_TEST(text.find("kinds[file]                  1.000KiB\n") != text.npos, text);
  BOOST_TEST(text.find("kinds[pgfault]                      7\n") != text.npos, text);
  BOOST_TEST(text.find("100B (+99B)") != text.npos, text);
  const std::string one = text_of(window_snapshot, {.metrics = {"kinds[anon]"}});
  BOOST_TEST(one.find("12.000KiB (+8.000KiB)") != one.npos, one);
  const auto json = json_of(window_snapshot, {.metrics = {"kinds"}});
  for (const auto& row : json.at("rows").as_array()) {
    const auto& change = row.at("change");
    if (row.at("group") == "web")
      BOOST_TEST(change == boost::json::parse(R"({"anon": 8192, "file": 0})"));
    if (row.at("group") == "old") BOOST_TEST(change.is_null());
  }
  TextSink csv;
  BOOST_REQUIRE(write_report_csv(report_of(window_snapshot, {.metrics = {"kinds"}}), csv));
  BOOST_TEST(csv.text.find(",kinds,anon,bytes,12288,8192,") != csv.text.npos, csv.text);
  BOOST_TEST(csv.text.find(",kinds,pgfault,count,7,,") != csv.text.npos, csv.text);
}

BOOST_AUTO_TEST_CASE(shows_unchanged_gauges_in_maps_on_request) {
  const Snapshot window_snapshot = window_of_maps(
      "gauge bytes: anon file", {{"anon", 9}, {"file", 5}}, {{"anon", 9}, {"file", 0}});
  const std::string moved = text_of(window_snapshot, {.only_changed = true});
  BOOST_TEST(moved.find(" 9B\n") == moved.npos, moved);
  BOOST_TEST(moved.find("0B (-5B)") != moved.npos, moved);
  const std::string requested =
      text_of(window_snapshot, {.metrics = {"kinds"}, .only_changed = true});
  BOOST_TEST(requested.find("kinds[anon]           9B\n") != requested.npos, requested);
}

BOOST_AUTO_TEST_CASE(a_map_of_gauges_needs_no_base) {
  const Snapshot gauges = window_of_maps("gauge bytes: anon", {}, {{"anon", 9}}, false);
  const Snapshot mixed = window_of_maps("gauge bytes: anon", {}, {{"anon", 9}, {"pg", 1}}, false);
  const Column* column = gauges.threads().find("kinds");
  BOOST_TEST(gauges.pools->maps[column->ids()[0]].front().value == 9u);
  BOOST_CHECK(column->has_value(0));
  BOOST_CHECK(mixed.threads().find("kinds")->gap(0) == Gap::NoBase);
}

BOOST_AUTO_TEST_CASE(shows_changed_settings_by_name_and_value) {
  const auto many = [](std::uint64_t second, const char* state, std::int64_t nice) {
    Snapshot snapshot = WindowEnds::snapshot_at(
        second, {{1, 1, "p", "worker1"}, {1, 2, "p", "worker2"}, {3, 3, "q", "q"}}, {5, 5, 5});
    add_text(snapshot, kState, {state, state, state});
    add_i64(snapshot, kNice, {nice, nice, 0});
    return snapshot;
  };
  auto made = make_window(many(10, "S", 0), many(20, "R", -5), {});
  BOOST_REQUIRE(made);
  convert_to_differences(*made);
  const RunFacts facts = collect_run_facts(*made);
  BOOST_REQUIRE_EQUAL(facts.window->settings.size(),
                      1u);  // only `nice`: the state of a thread is not a setting
  const SettingChange& change = facts.window->settings.front();
  BOOST_TEST(change.metric == "nice");
  BOOST_TEST(change.name == "worker{N}");
  BOOST_TEST(change.before.text == "0");
  BOOST_TEST(change.after.text == "-5");
  BOOST_TEST(change.rows == 2u);
  BOOST_TEST(text_of(*made, {.metrics = {"nice"}}).find("nice     0 → -5   worker{N}     2") !=
             std::string::npos);
  const auto json = json_of(*made);
  const auto& setting = json.at("snapshot").at("window").at("settings").at(0);
  BOOST_TEST(setting.at("after").as_int64() == -5);
}

BOOST_AUTO_TEST_CASE(changed_tunables_of_the_host_are_settings) {
  WindowEnds ends;
  ends.before.objects["host"] =
      R"({"thp":"always [madvise]","total_kib":7,"tunables":{"slice":"3","came":"1"},"gone":"1"})";
  ends.after.objects["host"] =
      R"({"thp":"[always] madvise","total_kib":8,"tunables":{"slice":"5","came":"1"},"new":"1"})";
  const Snapshot window_snapshot = ends.window();
  const auto settings = collect_run_facts(window_snapshot).window->settings;
  BOOST_REQUIRE_EQUAL(settings.size(), 2u);  // excludes sizes, and settings that only one end has
  BOOST_TEST(settings[0].metric == "thp");
  BOOST_TEST(settings[1].metric == "tunables.slice");
  BOOST_TEST(settings[1].before.text == "3");
  BOOST_TEST(settings[1].after.text == "5");
  BOOST_TEST(text_of(window_snapshot, {.metrics = {"run"}}).find("tunables.slice  3 → 5") !=
             std::string::npos);
}

// A file can contain any text.
BOOST_AUTO_TEST_CASE(escapes_texts_of_settings) {
  WindowEnds ends;
  ends.before.objects["host"] = R"({"thp\u001b[1m":"a\u001b[2J","gone":"1"})";
  ends.after.objects["host"] = R"({"thp\u001b[1m":"b\u001b]0;","new":"1"})";
  const Snapshot window = ends.window();
  const RunFacts facts = collect_run_facts(window);
  const std::string line = format_setting_changes(*facts.window, 200);
  for (const std::string& text : {text_of(window, {.metrics = {"run"}}), line}) {
    BOOST_TEST(text.find('\x1b') == text.npos, text);
    BOOST_TEST(text.find("thp\\x1b[1m") != text.npos, text);
    BOOST_TEST(text.find("a\\x1b[2J → b\\x1b]0;") != text.npos, text);
  }
}

BOOST_AUTO_TEST_CASE(shows_states_at_both_ends_on_request) {
  const MetricDef peak = metric("longest", "PeakNs", "MaxPeak");
  WindowEnds ends;
  add_u64(ends.before, peak, {7, 7});
  add_u64(ends.after, peak, {7, 7, 7});
  const Snapshot window_snapshot = ends.window();
  const std::string all = text_of(window_snapshot, {.only_changed = true});
  BOOST_TEST(all.find("state") == all.npos);
  BOOST_TEST(all.find("zero or unchanged") != all.npos);
  BOOST_TEST(all.find("7ns (ever)") != all.npos);
  BOOST_TEST(text_of(window_snapshot, {.metrics = {"state"}, .only_changed = true}).find("state") !=
             std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::window_states_output_test
