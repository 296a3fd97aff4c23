// Tests tables and Prometheus exports: fields, names, sums, and limits.

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/tables/capture_fields.hpp"
#include "core/tables/exposition.hpp"
#include "core/tables/group_series.hpp"
#include "core/tables/metric_family.hpp"
#include "core/tables/text_row_writer.hpp"

namespace ctprof::tables_test {
namespace {

std::string rows(TableFormat form) {
  StringSink sink;
  TextRowWriter out(form, sink);
  out.begin_table({"a", "b c"});
  out.text("x,\"y\"\n");
  out.number(std::uint64_t{18446744073709551615U});
  out.end_row();
  out.text("");
  out.null();
  out.end_row();
  out.text(
      "a\xff"
      "b");
  out.number(std::numeric_limits<double>::quiet_NaN());
  out.end_row();
  out.json("{\"k\":1}");
  out.number(std::int64_t{-5});
  out.end_row();
  out.boolean(true);
  out.number(1.5);
  out.end_row();
  BOOST_TEST(out.finish().has_value());
  return sink.text();
}

BOOST_AUTO_TEST_SUITE(tables_test)

std::string format_csv_safe_row(const std::vector<std::string>& texts) {
  StringSink sink;
  TextRowWriter out(TableFormat::Csv, sink, true);
  for (const std::string& text : texts) out.text(text);
  out.number(std::int64_t{-5});
  out.end_row();
  BOOST_TEST(out.finish().has_value());
  return sink.text();
}

// The prefixes that OWASP lists; numbers are not marked.
BOOST_AUTO_TEST_CASE(marks_texts_that_look_like_formulas) {
  BOOST_TEST(format_csv_safe_row({"=1+1", "+1", "-1", "@SUM(A1)"}) ==
             "\"'=1+1\",\"'+1\",\"'-1\",\"'@SUM(A1)\",-5\n");
  BOOST_TEST(format_csv_safe_row({"\t=1", "\r=1", " =1"}) == "\"'\t=1\",\"'\r=1\",\"' =1\",-5\n");
  BOOST_TEST(format_csv_safe_row({"a=1", "1-1", ""}) == "a=1,1-1,\"\",-5\n");
}

// In some languages, spreadsheets accept the fullwidth forms of =, +, - and @ in formulas, and use
// semicolons as separators.
BOOST_AUTO_TEST_CASE(marks_formulas_behind_line_breaks_and_separators) {
  BOOST_TEST(format_csv_safe_row({"\n=1", "\n", "\v\f =1"}) ==
             "\"'\n=1\",\"'\n\",\"'\v\f =1\",-5\n");
  BOOST_TEST(format_csv_safe_row({"\uff1d1", "\uff0b1", "\uff0d1", "\uff20A", "\uff11"}) ==
             "\"'\uff1d1\",\"'\uff0b1\",\"'\uff0d1\",\"'\uff20A\",\uff11,-5\n");
  BOOST_TEST(format_csv_safe_row({";=14", "; @A", "a;=14", "a\t=1"}) ==
             "\"';=14\",\"'; @A\",\"a;=14\",\"a\t=1\",-5\n");
}

BOOST_AUTO_TEST_CASE(writes_rows_as_json) {
  BOOST_TEST(rows(TableFormat::Ndjson) ==
             "{\"a\":\"x,\\\"y\\\"\\n\",\"b c\":18446744073709551615}\n"
             "{\"a\":\"\",\"b c\":null}\n"
             "{\"a\":\"a\xef\xbf\xbd"
             "b\",\"b c\":null}\n"
             "{\"a\":{\"k\":1},\"b c\":-5}\n"
             "{\"a\":true,\"b c\":1.5}\n");
}

BOOST_AUTO_TEST_CASE(writes_rows_as_csv) {
  BOOST_TEST(rows(TableFormat::Csv) ==
             "a,b c\n"
             "\"x,\"\"y\"\"\n\",18446744073709551615\n"
             "\"\",\n"
             "a\xef\xbf\xbd"
             "b,\n"
             "\"{\"\"k\"\":1}\",-5\n"
             "true,1.5\n");
}

BOOST_AUTO_TEST_CASE(stops_when_the_sink_is_full) {
  class FullSink final : public Sink {
   public:
    Result<void> write(std::string_view) override { return ++writes, Error{"full"}; }
    int writes = 0;
  } full;
  TextRowWriter out(TableFormat::Csv, full);
  out.begin_table({"a"});
  for (int i = 0; i < 100'000; ++i) {
    out.text("0123456789");
    out.end_row();
  }
  BOOST_TEST(!out.get_write_result().has_value());
  BOOST_TEST(!out.finish().has_value());
  BOOST_TEST(full.writes == 1);
}

BOOST_AUTO_TEST_CASE(formats_times) {
  BOOST_TEST(format_utc_time(1'795'502'232'123'456'789) == "2026-11-24T06:37:12.123456789Z");
  BOOST_TEST(format_utc_time(1) == "1970-01-01T00:00:00.000000001Z");
}

// Checks the exported name of a metric, and the exported value of 1000.
void check_family(const char* metric, const char* unit, bool adds_up, CounterForm counted,
                  const char* name, double figure) {
  const NamedFamily named = make_family(metric, unit, adds_up, counted, 100);
  const bool counts = named.family.type == SeriesType::Counter;
  BOOST_TEST(named.family.name + (counts ? "_total" : "") == name);
  BOOST_TEST(1000 * named.scale == figure, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(exports_names_and_units) {
  using enum CounterForm;
  check_family("run_time_ns", "ns", true, Total, "ctprof_run_time_seconds_total", 1e-6);
  check_family("run_time_ns", "ns", true, PerSecond, "ctprof_run_time_seconds_per_second", 1e-6);
  check_family("run_time_ns", "ns", true, Lifetime, "ctprof_lifetime_run_time_seconds", 1e-6);
  check_family("cpu_delay_total_ns", "ns", true, Total, "ctprof_cpu_delay_seconds_total", 1e-6);
  check_family("cpu_delay_count", "count", true, Total, "ctprof_cpu_delay_events_total", 1000);
  check_family("wait_sum", "ns", true, Total, "ctprof_wait_sum_seconds_total", 1e-6);
  check_family("utime_clock_ticks", "ticks", true, Total, "ctprof_utime_seconds_total", 10);
  check_family("cgroup.cpu.usage_usec", "us", true, Total, "ctprof_cgroup_cpu_usage_seconds_total",
               1e-3);
  check_family("rss_bytes", "bytes", false, Total, "ctprof_rss_bytes", 1000);
  check_family("process.smaps_rollup", "kib", false, Total, "ctprof_process_smaps_rollup_bytes",
               1'024'000);
  check_family("host.psi.cpu.some.avg10", "centipercent", false, Total,
               "ctprof_host_psi_cpu_some_avg10_ratio", 10);
  check_family("thread_count", "count", false, Total, "ctprof_threads", 1000);
  check_family("x_sum", "count", true, Lifetime, "ctprof_lifetime_x_sum_value", 1000);
  check_family("acme.flux", "Wb/s", false, Total, "ctprof_acme_flux_Wb_s", 1000);
}

using Labels = std::vector<std::pair<std::string, std::string>>;

SeriesFamily make_family(const char* name, SeriesType type,
                         std::initializer_list<std::pair<const char*, double>> groups) {
  SeriesFamily made{name, "", type, "help", {}};
  for (const auto& [group, value] : groups)
    made.series.push_back({Labels{{"pcomm", group}}, value});
  return made;
}

BOOST_AUTO_TEST_CASE(writes_text_and_openmetrics) {
  std::vector<SeriesFamily> families{
      make_family("ctprof_a", SeriesType::Counter, {{"x\"\\\n", 1.5}}),
      {"ctprof_b_bytes", "bytes", SeriesType::Gauge, "a\\b", {{{}, INFINITY}}},
      {"ctprof_nothing", "", SeriesType::Gauge, "", {}},
  };
  StringSink text, open;
  BOOST_TEST(write_exposition(families, ExpositionFormat::Text, text).has_value());
  BOOST_TEST(write_exposition(families, ExpositionFormat::OpenMetrics, open).has_value());
  BOOST_TEST(text.text() ==
             "# HELP ctprof_a_total help\n# TYPE ctprof_a_total counter\n"
             "ctprof_a_total{pcomm=\"x\\\"\\\\\\n\"} 1.5\n"
             "# HELP ctprof_b_bytes a\\\\b\n# TYPE ctprof_b_bytes gauge\nctprof_b_bytes +Inf\n");
  BOOST_TEST(open.text() ==
             "# HELP ctprof_a help\n# TYPE ctprof_a counter\n"
             "ctprof_a_total{pcomm=\"x\\\"\\\\\\n\"} 1.5\n"
             "# HELP ctprof_b_bytes a\\\\b\n# TYPE ctprof_b_bytes gauge\n# UNIT ctprof_b_bytes "
             "bytes\nctprof_b_bytes +Inf\n# EOF\n");
}

BOOST_AUTO_TEST_CASE(drops_the_groups_with_the_smallest_values) {
  std::vector<SeriesFamily> families{
      make_family("a", SeriesType::Gauge, {{"big", 90}, {"mid", 9}, {"small", 1}, {"other", 0}}),
      make_family("b", SeriesType::Gauge, {{"big", 0}, {"small", 4}, {"other", 6}}),
      {"c", "", SeriesType::Gauge, "", {{{}, 1}}},
  };
  std::vector<SeriesFamily> whole = families;
  BOOST_TEST(limit_series(whole, 8).groups == 0U);
  BOOST_TEST(limit_series(whole, 0).groups == 0U);
  BOOST_TEST(whole.size() == 3U);
  // Without `mid`, seven series remain, and the count of omitted groups is an eighth.
  BOOST_TEST(limit_series(whole, 7).groups == 2U);
  const OmittedSeries cut = limit_series(families, 6);
  BOOST_TEST(cut.groups == 2U);  // mid with 9 % and small with 40 %, for 8 series plus the count
  BOOST_TEST(cut.series == 3U);
  BOOST_TEST(families[0].series.size() == 2U);
  BOOST_TEST(families[1].series.size() == 2U);
  BOOST_TEST(families[2].series.size() == 1U);
  BOOST_TEST(families[3].name == "ctprof_groups_left_out");
  BOOST_TEST(families[3].series[0].value == 2);
}

// OpenMetrics 1.0: a histogram has a count if and only if it has a sum.
BOOST_AUTO_TEST_CASE(only_text_has_the_count_of_a_histogram) {
  SeriesFamily family{"waits", "", SeriesType::Histogram, "help", {}};
  for (const auto& [limit, count] : {std::pair{"1.0", 3.0}, {"+Inf", 5.0}})
    family.series.push_back({{{"pcomm", "a"}, {"le", limit}}, count});
  const std::string buckets =
      "waits_bucket{pcomm=\"a\",le=\"1.0\"} 3\nwaits_bucket{pcomm=\"a\",le=\"+Inf\"} 5\n";
  const std::string head = "# HELP waits help\n# TYPE waits histogram\n";
  const std::vector<SeriesFamily> families{family};
  StringSink text, open;
  BOOST_TEST(write_exposition(families, ExpositionFormat::Text, text).has_value());
  BOOST_TEST(write_exposition(families, ExpositionFormat::OpenMetrics, open).has_value());
  BOOST_TEST(text.text() == head + buckets + "waits_count{pcomm=\"a\"} 5\n");
  BOOST_TEST(open.text() == head + buckets + "# EOF\n");
}

// Keys of maps have labels of their own. The host has no groups.
BOOST_AUTO_TEST_CASE(drops_whole_groups_and_single_keys_of_the_host) {
  const auto keyed = [](const char* name, SeriesType type, std::size_t own_labels) {
    SeriesFamily family{name, "", type, "help", {}};
    family.own_labels = own_labels;
    return family;
  };
  SeriesFamily group = keyed("group", SeriesType::Gauge, 2);
  for (const char* direction : {"read", "write"})
    group.series.push_back({{{"pcomm", "a"}, {"device", "sda"}, {"direction", direction}}, 1});
  SeriesFamily host = keyed("host", SeriesType::Gauge, 1);
  for (const auto& [kind, value] : {std::pair{"big", 97.0}, {"mid", 2.0}, {"small", 1.0}})
    host.series.push_back({{{"kind", kind}}, value});
  SeriesFamily buckets = keyed("buckets", SeriesType::Histogram, 1);
  buckets.series.push_back({{{"le", "+Inf"}}, 0});
  std::vector<SeriesFamily> families{group, host, buckets};
  const OmittedSeries cut = limit_series(families, 5);
  BOOST_TEST(cut.groups == 2U);
  BOOST_TEST(cut.series == 2U);
  BOOST_TEST(families[0].series.size() == 2U);
  BOOST_REQUIRE(families[1].series.size() == 1U);
  BOOST_TEST(families[1].series[0].labels[0].second == "big");
  BOOST_TEST(families[2].series.size() == 1U);
  families = {group, host, buckets};
  families[0].series[0].value = families[0].series[1].value = 0;
  BOOST_TEST(limit_series(families, 5).series == 2U);
  BOOST_TEST(families[0].series.empty());
}

BOOST_AUTO_TEST_CASE(adds_counters_of_several_reports) {
  SeriesTotals totals;
  totals.add({make_family("c", SeriesType::Counter, {{"x", 5}, {"y", 1}}),
              make_family("g", SeriesType::Gauge, {{"x", 7}})});
  totals.add({make_family("c", SeriesType::Counter, {{"x", 2}, {"z", 3}}),
              make_family("g", SeriesType::Gauge, {{"x", 1}})});
  const auto& families = totals.families();
  BOOST_TEST(families[0].series.size() == 3U);
  BOOST_TEST(families[0].series[0].value == 7);  // x
  BOOST_TEST(families[0].series[1].value == 1);  // y, which is missing in the second report
  BOOST_TEST(families[0].series[2].value == 3);  // z
  BOOST_TEST(families[1].series[0].value == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::tables_test
