// Tests two snapshots of the same boot: identity of threads, contributions to a difference, rates,
// and the thread with the largest value.

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>
#include <limits>
#include <string>

#include "core/compare/report/report.hpp"
#include "core/render/report_json.hpp"
#include "core/render/report_text.hpp"
#include "tests/unit/support/test_snapshots.hpp"

namespace ctprof::one_boot_test {
namespace {

namespace json = boost::json;
using namespace hand_made;

constexpr std::uint64_t kMaxU64 = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kSecond = 1'000'000'000;

const RuleSet rules;
const MetricDef kRun = metric("run_time_ns", "MonotonicNs", "SumNs"),
                kPeak = metric("wait_max", "PeakNs", "MaxPeak");

Snapshot snapshot_at(std::uint64_t second, const std::vector<Thread>& threads,
                     const Cells<std::uint64_t>& starts) {
  Snapshot s = snapshot_of(threads);
  s.meta.boot_id = "b";
  s.meta.start.boottime_ns = second * kSecond;
  add_u64(s, identity_metric(kStartTime), starts);
  return s;
}

// In the pool, thread 1 continues, 2 is replaced by a new thread, 3 exits, and 4 starts. Thread 8
// changes its name and therefore its group.
Snapshot before() {
  Snapshot s = snapshot_at(1,
                           {{1, 1, "pool", "a"},
                            {1, 2, "pool", "b"},
                            {1, 3, "pool", "c"},
                            {8, 8, "x", "x"},
                            {9, 9, "x", "x"},
                            {20, 20, "y", "y"}},
                           {10, 11, 12, 80, 90, 200});
  add_u64(s, kRun, {100, 20, 30, 7, 1, 1});
  add_u64(s, kPeak, {0, 9, 5, 0, 0, 0});
  s.read_at = {100'000'000, 200'000'000, 300'000'000, 0, 0, 0};
  return s;
}
Snapshot after() {
  Snapshot s = snapshot_at(3,
                           {{1, 1, "pool", "a"},
                            {1, 2, "pool", "b"},
                            {1, 4, "pool", "d"},
                            {8, 8, "y", "y"},
                            {9, 9, "x", "x"},
                            {20, 20, "y", "y"}},
                           {10, 99, 50, 80, 90, 200});
  add_u64(s, kRun, {150, 5, 7, 8, 1, 1});
  add_u64(s, kPeak, {0, 0, 0, 0, 0, 0});
  s.read_at = {700'000'000, 700'000'000, 700'000'000, 0, 0, 0};
  return s;
}

json::object comparison_json(const Snapshot& a, const Snapshot& b, const Spec& spec = {}) {
  const Snapshot* sides[] = {&a, &b};
  const auto report = Report::make(sides, spec, {&rules, {}});
  BOOST_REQUIRE_MESSAGE(report, report.error().text);
  StringSink sink;
  const std::string files[] = {"a.zst", "b.zst"};
  BOOST_REQUIRE(write_report_json(*report, files, sink));
  return json::parse(sink.text()).as_object();
}

json::object row_of(const json::object& report, std::string_view group, std::string_view metric) {
  for (const json::value& row : report.at("rows").as_array())
    if (row.at("group").as_string() == group && row.at("metric").as_string() == metric)
      return row.as_object();
  BOOST_FAIL("no row of " << group << " and " << metric);
  return {};
}

// Returns members of a row as JSON, separated by blanks.
std::string member_texts(const json::object& row, std::initializer_list<std::string_view> names) {
  std::string text;
  for (const std::string_view name : names)
    text += (text.empty() ? "" : " ") + json::serialize(row.at(name));
  return text;
}
std::string read_contributions(const json::object& row) {
  return member_texts(row, {"delta", "delta_alive", "delta_new", "delta_gone"});
}
std::string thread_counts(const json::object& row) {
  return member_texts(row, {"threads_alive", "threads_new", "threads_gone"});
}

BOOST_AUTO_TEST_SUITE(one_boot_test)

BOOST_AUTO_TEST_CASE(splits_a_difference_into_living_new_and_exited_threads) {
  const json::object report = comparison_json(before(), after());
  BOOST_TEST(read_contributions(row_of(report, "pool", "run_time_ns")) == "12 50 12 -50");
  BOOST_TEST(thread_counts(row_of(report, "pool", "run_time_ns")) == "1 2 2");
  BOOST_TEST(read_contributions(row_of(report, "pool", "thread_count")) == "0 0 2 -2");
  // A maximum is not a sum of parts.
  BOOST_TEST(read_contributions(row_of(report, "pool", "wait_max")) == "-9 null null null");
}

BOOST_AUTO_TEST_CASE(a_renamed_thread_leaves_one_group_and_joins_another) {
  const json::object report = comparison_json(before(), after());
  BOOST_TEST(read_contributions(row_of(report, "x", "run_time_ns")) == "-7 0 0 -7");
  BOOST_TEST(read_contributions(row_of(report, "y", "run_time_ns")) == "8 0 8 0");
  BOOST_TEST(thread_counts(row_of(report, "y", "run_time_ns")) == "1 1 0");
}

BOOST_AUTO_TEST_CASE(the_host_counts_a_renamed_thread_as_living) {
  Snapshot a = before(), b = after();
  for (Snapshot* s : {&a, &b}) {
    s->table(Entity::Host).rows = 1;
    add_u64(*s, metric("host_ns", "MonotonicNs", "SumNs", Entity::Host), {1});
  }
  const json::object row = row_of(comparison_json(a, b), "host", "host_ns");
  BOOST_TEST(thread_counts(row) == "4 2 2");
  BOOST_TEST(read_contributions(row) == "0 null null null");
}

BOOST_AUTO_TEST_CASE(exchanging_the_files_exchanges_new_and_exited_threads) {
  const json::object row = row_of(comparison_json(after(), before()), "pool", "run_time_ns");
  BOOST_TEST(read_contributions(row) == "-12 -50 50 -12");
  BOOST_TEST(thread_counts(row) == "1 2 2");
}

BOOST_AUTO_TEST_CASE(contributions_are_unknown_across_boots) {
  for (const std::string_view boot : {"", "other"}) {
    Snapshot a = before(), b = after();
    b.meta.boot_id = boot;
    if (boot.empty()) a.meta.boot_id = boot;
    const json::object row = row_of(comparison_json(a, b), "pool", "run_time_ns");
    BOOST_TEST(read_contributions(row) == "12 null null null");
    BOOST_TEST(thread_counts(row) == "null null null");
  }
}

BOOST_AUTO_TEST_CASE(a_thread_without_a_start_time_has_unknown_identity) {
  Snapshot a = before();
  Column& starts = *a.threads().find(kStartTime);
  starts.gaps()[2] = static_cast<ctprof_gap>(Gap::ThreadGone);
  const json::object report = comparison_json(a, after());
  BOOST_TEST(read_contributions(row_of(report, "pool", "run_time_ns")) == "12 null null null");
  BOOST_TEST(thread_counts(row_of(report, "pool", "run_time_ns")) == "null null null");
  BOOST_TEST(thread_counts(row_of(report, "x", "run_time_ns")) == "1 0 1");
  // A thread without a reading contributes nothing to this sum.
  a.threads().find("run_time_ns")->gaps()[2] = static_cast<ctprof_gap>(Gap::ThreadGone);
  BOOST_TEST(read_contributions(row_of(comparison_json(a, after()), "pool", "run_time_ns")) ==
             "42 50 12 -20");
}

BOOST_AUTO_TEST_CASE(a_saturated_sum_has_no_contributions) {
  Snapshot a = before(), b = after();
  const MetricDef def = metric("big_ns", "MonotonicNs", "SumNs");
  add_u64(a, def, {1, 1, 1, 1, 1, 1});
  add_u64(b, def, {kMaxU64, 1, 1, 1, 1, 1});
  const json::object row = row_of(comparison_json(a, b), "pool", "big_ns");
  BOOST_TEST(row.at("candidate").to_number<std::uint64_t>() == kMaxU64);
  BOOST_TEST(member_texts(row, {"delta_alive", "delta_new", "delta_gone"}) == "null null null");
}

BOOST_AUTO_TEST_CASE(rates_use_the_time_between_the_readings) {
  const Spec spec{.rate = true};
  const json::object forward = comparison_json(before(), after(), spec),
                     backward = comparison_json(after(), before(), spec);
  BOOST_TEST(row_of(forward, "pool", "run_time_ns").at("rate").to_number<double>() == 12 / 2.5);
  BOOST_TEST(row_of(backward, "pool", "run_time_ns").at("rate").to_number<double>() == -12 / 2.5);
  BOOST_TEST(row_of(forward, "pool", "wait_max").at("rate").is_null());
  BOOST_TEST(!row_of(comparison_json(before(), after()), "pool", "run_time_ns").contains("rate"));
}

BOOST_AUTO_TEST_CASE(counter_keys_of_a_map_have_rates) {
  Snapshot a = before(), b = after();
  MetricDef def = metric("events", "MixedMap", "MapMixed");
  def.map_keys = "gauge kib: anon";
  const MapValue none;
  add_map(a, def, {MapValue{{"anon", 5}, {"faults", 10}}, none, none, none, none, none});
  add_map(b, def, {MapValue{{"anon", 9}, {"faults", 20}}, none, none, none, none, none});
  const json::object forward = comparison_json(a, b, {.rate = true}),
                     backward = comparison_json(b, a, {.rate = true});
  BOOST_TEST(json::serialize(row_of(forward, "pool", "events").at("rate")) == R"({"faults":4})");
  BOOST_TEST(json::serialize(row_of(backward, "pool", "events").at("rate")) == R"({"faults":-4})");
  const Report report =
      *Report::make(std::vector<const Snapshot*>{&a, &b},
                    {.metrics = {"events"}, .rate = true, .only_changed = true}, {&rules, {}});
  const std::string text =
      format_report_text(report, std::vector<std::string>{"a", "b"},
                         *parse_columns("group,metric,delta,rate", ReportKind::Compare), {});
  BOOST_TEST(text.find("pool   events[faults]    +10  +4/s\n") != text.npos, text);
  BOOST_TEST(text.find("pool   events[anon]    +4KiB\n") != text.npos, text);
}

BOOST_AUTO_TEST_CASE(reports_why_rates_are_missing) {
  const auto notes = [](auto change, std::vector<std::string> metrics = {"run_time_ns"}) {
    Snapshot a = before(), b = after();
    change(a, b);
    return json::serialize(
        comparison_json(a, b, {.metrics = std::move(metrics), .rate = true}).at("notes"));
  };
  BOOST_TEST(notes([](Snapshot&, Snapshot&) {}) == "[]");
  BOOST_TEST(notes([](Snapshot&, Snapshot&) {}, {"wait_max"}) ==
             R"(["Only counters have rates; gauges, peaks, ratios and settings have none."])");
  BOOST_TEST(
      notes([](Snapshot& a, Snapshot&) { a.meta.boot_id = "other"; }) ==
      R"(["No rates: the time between the files is unknown, because they may be from different boots."])");
  BOOST_TEST(notes([](Snapshot& a, Snapshot&) { a.read_at.clear(); }) ==
             R"(["No rates of threads: the baseline does not state when each thread was read."])");
  BOOST_TEST(notes([](Snapshot& a, Snapshot& b) { a.read_at.clear(), b.read_at.clear(); }) ==
             R"(["No rates of threads: neither file states when each thread was read."])");
  BOOST_TEST(notes([](Snapshot& a, Snapshot& b) { b.meta.start = a.meta.start; }) ==
             R"(["No rates: no time passed between the two captures."])");
}

BOOST_AUTO_TEST_CASE(sums_and_maxima_name_the_thread_with_the_largest_value) {
  const json::object report = comparison_json(before(), after());
  const json::object run = row_of(report, "pool", "run_time_ns"),
                     peak = row_of(report, "pool", "wait_max");
  BOOST_TEST(member_texts(run, {"busiest_baseline", "busiest_candidate"}) ==
             R"({"tid":1,"comm":"a"} {"tid":1,"comm":"a"})");
  BOOST_TEST(member_texts(peak, {"busiest_baseline", "busiest_candidate"}) ==
             R"({"tid":2,"comm":"b"} null)");
  BOOST_TEST(member_texts(row_of(report, "pool", "thread_count"), {"busiest_baseline"}) == "null");
}

BOOST_AUTO_TEST_CASE(peaks_report_the_smallest_nonzero_value) {
  const json::object peak = row_of(comparison_json(before(), after()), "pool", "wait_max");
  BOOST_TEST(member_texts(peak, {"extras_baseline", "extras_candidate"}) ==
             R"({"min_nonzero":5} {"min_nonzero":null})");
}

BOOST_AUTO_TEST_CASE(text_shows_contributions_of_new_and_exited_threads) {
  const Snapshot a = before(), b = after();
  const Snapshot* sides[] = {&a, &b};
  const auto report = Report::make(
      sides, {.metrics = {"run_time_ns"}, .rate = true, .only_changed = true}, {&rules, {}});
  BOOST_REQUIRE(report);
  const std::string files[] = {"a.zst", "b.zst"};
  const std::string text =
      format_report_text(*report, files, get_default_columns(ReportKind::Compare), {});
  BOOST_TEST(text.substr(text.find("## primary")) ==
             "## primary\n"
             "group  threads  metric       value          delta        %       rate  of which\n"
             "pool         3  run_time_ns  150ns → 162ns  +12ns    +8.0%  +4.80ns/s  +12ns new, "
             "-50ns gone\n"
             "y          1→2  run_time_ns    1ns → 9ns     +8ns  +800.0%  +4.00ns/s  +8ns new\n"
             "x          2→1  run_time_ns    8ns → 1ns     -7ns   -87.5%  -3.50ns/s  -7ns gone\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::one_boot_test
