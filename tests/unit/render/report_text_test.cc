// Tests reports as text: complete tables, and escaping of control characters.

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <optional>
#include <string>

#include "core/render/report_csv.hpp"
#include "core/render/report_sentences.hpp"
#include "core/render/report_text.hpp"
#include "core/render/terminal_text.hpp"
#include "tests/unit/support/test_snapshots.hpp"

namespace ctprof::report_text_test {
namespace {

using namespace hand_made;

const RuleSet kRuleSet;

Snapshot snapshot_at(std::uint64_t second, const std::vector<Thread>& threads) {
  Snapshot s = snapshot_of(threads);
  s.meta.hostname = "box";
  s.meta.boot_id = "b";
  s.meta.start = {1'785'499'200'000'000'000 + second * 1'000'000'000, second * 1'000'000'000};
  return s;
}

Report report_of(const std::vector<const Snapshot*>& sides, const Spec& spec) {
  auto report = Report::make(sides, spec, {&kRuleSet, {}});
  BOOST_REQUIRE_MESSAGE(report, report.error().text);
  return std::move(*report);
}

std::string text_of(const std::vector<const Snapshot*>& sides, const Spec& spec,
                    const TextLayout& layout, std::optional<ColumnChoice> columns = {}) {
  const std::string files[] = {"before.zst", "after.zst"};
  const auto kind = sides.size() == 2 ? ReportKind::Compare : ReportKind::Show;
  return format_report_text(report_of(sides, spec), std::span(files).first(sides.size()),
                            columns.value_or(get_default_columns(kind)), layout);
}

struct Pair {
  Snapshot a = snapshot_at(0, {{1, 1, "web", "w"}, {1, 2, "web", "w"}, {5, 5, "db", "d"}});
  Snapshot b = snapshot_at(60, {{1, 1, "web", "w"},
                                {1, 2, "web", "w"},
                                {1, 3, "web", "w"},
                                {5, 5, "db", "d"},
                                {6, 6, "new", "n"}});
  Pair() {
    const MetricDef run = metric("run_time_ns", "MonotonicNs", "SumNs"),
                    none = metric("nr_wakeups", "MonotonicCount", "SumCount");
    add_u64(a, run, {1'000'000, 500'000, 700});
    add_u64(b, run, {3'000'000, 500'000, {}, 700, 2'000});
    add_u64(a, none, {{}, {}, {}}, Gap::Unsupported);
    add_u64(b, none, {{}, {}, {}, {}, {}}, Gap::Unsupported);
    add_text(a, metric("policy", "CategoricalString", "Mode"), {"OTHER", "OTHER", "OTHER"});
    add_text(b, metric("policy", "CategoricalString", "Mode"),
             {"FIFO", "FIFO", "OTHER", "OTHER", "OTHER"});
  }
};

BOOST_AUTO_TEST_SUITE(report_text_test)

BOOST_AUTO_TEST_CASE(compare_shows_changed_rows) {
  const Pair pair;
  BOOST_TEST(text_of({&pair.a, &pair.b}, {.only_changed = true}, {}) ==
             "           file        host  taken                 threads  processes\n"
             "baseline   before.zst  box   2026-07-31 12:00:00Z        3          2\n"
             "candidate  after.zst   box   2026-07-31 12:01:00Z        5          3\n"
             "same boot, 60.000s apart\n"
             "host context unavailable\n"
             "\n"
             "## primary\n"
             "group  threads  metric        value                    delta        %  readings\n"
             "web        2→3  run_time_ns   1.500ms → 3.500ms     +2.000ms  +133.3%   2/2→2/3\n"
             "web        2→3  thread_count        2 → 3                 +1   +50.0%\n"
             "web        2→3  policy          OTHER → FIFO (2/3)   differs        -\n"
             "3 did not change\n"
             "\n"
             "## only in the candidate: 1 group\n"
             "group  threads  largest metrics\n"
             "new          1  run_time_ns 2.000µs\n"
             "\n"
             "No value on either side of nr_wakeups (not supported by that host)\n");
}

BOOST_AUTO_TEST_CASE(show_shows_all_rows) {
  const Pair pair;
  BOOST_TEST(text_of({&pair.a}, {.limit = 4, .only_changed = true}, {}) ==
             "          file        host  taken                 threads  processes\n"
             "snapshot  before.zst  box   2026-07-31 12:00:00Z        3          2\n"
             "\n"
             "## primary\n"
             "group  threads  metric        value\n"
             "db           1  thread_count      1\n"
             "db           1  run_time_ns   700ns\n"
             "db           1  policy        OTHER\n"
             "web          2  thread_count      2\n"
             "2 more rows beyond --limit 4 (--limit 0 shows all)\n"
             "\n"
             "No value of nr_wakeups (not supported by that host)\n");
}

// Returns the first lines of the first section.
std::string table_of(const Pair& pair, const Spec& spec, const ColumnChoice& columns,
                     std::size_t lines) {
  const std::string text = text_of({&pair.a, &pair.b}, spec, {}, columns);
  const auto begin = text.find('\n', text.find("## primary")) + 1;
  auto end = begin;
  while (lines-- > 0) end = text.find('\n', end) + 1;
  return text.substr(begin, end - begin);
}

BOOST_AUTO_TEST_CASE(formats_values_in_each_display_mode) {
  const Pair pair;
  const auto table = [&](const char* format) {
    return table_of(pair, {.only_changed = true}, *parse_display_format(format), 2);
  };
  BOOST_TEST(table("full") ==
             "group  threads  metric        baseline   candidate     delta        %  readings\n"
             "web        2→3  run_time_ns    1.500ms     3.500ms  +2.000ms  +133.3%   2/2→2/3\n");
  BOOST_TEST(table("delta-only") ==
             "group  threads  metric           delta        %  readings\n"
             "web        2→3  run_time_ns   +2.000ms  +133.3%   2/2→2/3\n");
  BOOST_TEST(table("no-pct") ==
             "group  threads  metric        baseline   candidate     delta  readings\n"
             "web        2→3  run_time_ns    1.500ms     3.500ms  +2.000ms   2/2→2/3\n");
  BOOST_TEST(table("pct-only") ==
             "group  threads  metric              %  readings\n"
             "web        2→3  run_time_ns   +133.3%   2/2→2/3\n");
}

BOOST_AUTO_TEST_CASE(shows_the_requested_columns) {
  Pair pair;
  add_u64(pair.a, identity_metric(kStartTime), {100, 100, 900});
  add_u64(pair.b, identity_metric(kStartTime), {100, 100, 400, 600, 1000});
  const auto columns = *parse_columns("metric,Uptime,delta", ReportKind::Compare);
  BOOST_TEST(table_of(pair, {.only_changed = true}, columns, 2) ==
             "metric        %uptime     delta\n"
             "run_time_ns      100%  +2.000ms\n");
  const Spec sorted{.sort = *parse_sort("thread_count", ReportKind::Compare), .only_changed = true};
  BOOST_TEST(table_of(pair, sorted, columns, 2) ==
             "metric        %uptime     delta  thread_count\n"
             "thread_count     100%        +1  2→3 (+50.0%)\n");
  const Spec all{.metrics = {"thread_count"}, .sort = *parse_sort("name", ReportKind::Compare)};
  BOOST_TEST(table_of(pair, all, *parse_columns("group,uptime", ReportKind::Compare), 3) ==
             "group  %uptime\n"
             "db         50%\n"
             "web       100%\n");
}

BOOST_AUTO_TEST_CASE(refuses_invalid_columns) {
  const auto refusal = [](std::string_view text, ReportKind kind = ReportKind::Compare) {
    const auto columns = parse_columns(text, kind);
    return columns ? "" : columns.error().text;
  };
  BOOST_TEST(refusal("group, METRIC ,%") == "");
  BOOST_TEST(refusal("group,,metric") == "reading --columns 'group,,metric': an entry is empty");
  BOOST_TEST(refusal("") == "reading --columns '': an entry is empty");
  BOOST_TEST(refusal("delta,delta") == "reading --columns 'delta,delta': 'delta' is repeated");
  BOOST_TEST(refusal("delat") ==
             "reading --columns 'delat': 'delat' is none of group, threads, metric, tags, "
             "baseline, candidate, arrow, delta, %, shift, p, "
             "rate, of-which, life, "
             "uptime, runs, readings (did you mean 'delta'?)");
  BOOST_TEST(refusal("delta", ReportKind::Show) ==
             "reading --columns 'delta': 'delta' is none of group, threads, metric, tags, value, "
             "uptime, runs, readings");
  BOOST_TEST(refusal("value") != "");
  BOOST_TEST(refusal("arrow,baseline") ==
             "reading --columns 'arrow,baseline': 'arrow' contains baseline and candidate; name "
             "either 'arrow' or these two");
  BOOST_TEST(refusal("candidate,arrow") != "");
  BOOST_TEST(parse_display_format("ful").error().text ==
             "reading --display-format 'ful': it is none of full, delta-only, no-pct, arrow, "
             "pct-only (did you mean 'full'?)");
}

BOOST_AUTO_TEST_CASE(wrapped_cells_keep_all_text) {
  const std::string name = "/system.slice/a-service-with-a-long-name.service/and-a-part-of-it";
  const Snapshot a = snapshot_at(0, {{1, 1, name, "w"}});
  const std::string text = text_of({&a}, {}, {60, false, true});
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    BOOST_TEST(get_display_width(std::string_view(text).substr(at, text.find('\n', at) - at)) <=
               60);
  BOOST_TEST(text.find("…") == std::string::npos);
  BOOST_TEST(text.find("/system.slice/ ") != std::string::npos);
  BOOST_TEST(text_of({&a}, {}, {0, false, true}) == text_of({&a}, {}, {}));
}

BOOST_AUTO_TEST_CASE(lines_fit_the_terminal) {
  Snapshot a =
      snapshot_at(0, {{1, 1, std::string(300, 'x'), "w"}, {2, 2, "漢字漢字漢字漢字漢字", "w"}});
  Snapshot b =
      snapshot_at(1, {{1, 1, std::string(300, 'x'), "w"}, {2, 2, "漢字漢字漢字漢字漢字", "w"}});
  const MetricDef def =
      metric("a_metric_with_a_name_that_goes_on_for_a_while_ns", "MonotonicNs", "SumNs");
  add_u64(a, def, {1'234'567, 999});
  add_u64(b, def, {7'654'321, 998});
  for (const std::size_t width : {72, 80, 120, 200}) {
    const std::string text = text_of({&a, &b}, {.only_changed = true}, {width, false});
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
      BOOST_TEST(get_display_width(std::string_view(text).substr(at, text.find('\n', at) - at)) <=
                 width);
    BOOST_TEST(text.find("1.235ms → 7.654ms") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(escapes_all_names_for_the_terminal) {
  const std::string hostile_name = "e\x1b]0;x\x07\n\xe2\x80\xae\xff\xc2\x9b";
  Snapshot a = snapshot_at(0, {{1, 1, hostile_name, "w"}}),
           b = snapshot_at(1, {{1, 1, hostile_name, "w"}, {2, 2, hostile_name + "2", "w"}});
  a.meta.hostname = hostile_name;
  add_text(a, metric("policy", "CategoricalString", "Mode"), {hostile_name});
  add_text(b, metric("policy", "CategoricalString", "Mode"), {"OTHER", hostile_name});
  MetricDef pair_with_unknown_rule =
      metric(hostile_name, "MonotonicNs", "no.such.rule" + hostile_name);
  pair_with_unknown_rule.fallback = "SumNs";
  add_u64(a, pair_with_unknown_rule, {1});
  add_u64(b, pair_with_unknown_rule, {2, 3});
  const std::string text = text_of({&a, &b}, {.only_changed = true}, {});
  for (const std::string_view bad : {"\x1b", "\x07", "\xe2\x80\xae", "\xff", "\xc2\x9b"})
    BOOST_TEST(text.find(bad) == std::string::npos);
  BOOST_TEST(text.find("e\\x1b]0;x\\x07\\n\\u202e\\xff\\u009b") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(headings_show_the_relation_of_the_files) {
  const auto relation = [](auto change) {
    Pair pair;
    change(pair.b.meta);
    const std::string text = text_of({&pair.a, &pair.b}, {}, {});
    const auto line = text.find('\n', text.find("candidate  after")) + 1;
    return text.substr(line, text.find('\n', line) - line);
  };
  BOOST_TEST(relation([](Meta& m) { m.boot_id = "other"; }) == "same host, different boots");
  BOOST_TEST(relation([](Meta& m) { m.boot_id = "other", m.hostname = "rack"; }) ==
             "different boots, different hosts");
  BOOST_TEST(relation([](Meta& m) { m.boot_id = ""; }) ==
             "unknown whether both are from the same boot");
  BOOST_TEST(relation([](Meta& m) { m.user_hz = 250; }) ==
             "same boot, 60.000s apart, different clock ticks (100 and 250 a second)");
}

// Returns the lines below the line about boots.
std::string host_lines(std::string before, std::string after, const std::string& boot = "b") {
  Pair pair;
  if (!before.empty()) pair.a.objects["host"] = std::move(before);
  if (!after.empty()) pair.b.objects["host"] = std::move(after);
  pair.b.meta.boot_id = boot;
  const std::string text = text_of({&pair.a, &pair.b}, {}, {});
  const auto from = text.find('\n', text.find("boot")) + 1;
  return text.substr(from, text.find("\n\n") + 1 - from);
}

BOOST_AUTO_TEST_CASE(headings_show_differences_of_the_hosts) {
  BOOST_TEST(host_lines("{}", "") == "host context unavailable\n");
  BOOST_TEST(host_lines(R"({"arch":"x"})", R"({"arch":"x"})") == "");
  BOOST_TEST(host_lines(R"({"arch":"x"})", R"({"arch":"x"})", "other") ==
             "host contexts are equal\n");
  BOOST_TEST(
      host_lines(
          R"({"arch":"x","cpu_model":"A","kernel_cmdline":"ro quiet a=1","sched_tunables":{"sched_rr_timeslice_ms":"100"}})",
          R"({"arch":"x","cpu_model":"A","kernel_cmdline":"ro a=2","online_cpus":4,"sched_tunables":{"sched_rr_timeslice_ms":"50"}})") ==
      "host                                  baseline   candidate\n"
      "kernel_cmdline                        quiet a=1  a=2\n"
      "sched_tunables.sched_rr_timeslice_ms  100        50\n"
      "online_cpus                           -          4\n");
  BOOST_TEST(host_lines(R"({"kernel_cmdline":"a b"})", R"({"kernel_cmdline":"b a"})") ==
             "host            baseline     candidate\n"
             "kernel_cmdline  (reordered)  (reordered)\n");
}

BOOST_AUTO_TEST_CASE(counts_many_differences_of_hosts) {
  std::string before = "{", after = "{";
  for (int i = 0; i < 12; ++i) {
    before += (i ? ",\"k" : "\"k") + std::to_string(i) + "\":1";
    after += (i ? ",\"k" : "\"k") + std::to_string(i) + "\":2";
  }
  const std::string text = host_lines(before + "}", after + "}");
  BOOST_TEST(std::count(text.begin(), text.end(), '\n') == 11);  // header, 9 rows, count
  BOOST_TEST(text.ends_with("3 more differences in --format json\n"));
}

std::string csv_of(const std::vector<const Snapshot*>& sides, const Spec& spec) {
  StringSink sink;
  BOOST_REQUIRE(write_report_csv(report_of(sides, spec), sink));
  return sink.text();
}

BOOST_AUTO_TEST_CASE(csv_marks_formulas_for_spreadsheets) {
  Snapshot snapshot = snapshot_of({{7, 7, "=1+1", "t"}});
  add_i64(snapshot, metric("nice", "OrdinalI32", "RangeI32"), {-5});
  const Spec spec{.metrics = {"nice"}};
  const auto csv = [&](bool is_safe) {
    StringSink sink;
    BOOST_REQUIRE(write_report_csv(report_of({&snapshot}, spec), sink, is_safe));
    return sink.text();
  };
  BOOST_TEST(csv(false).find(",=1+1,nice,") != std::string::npos);
  BOOST_TEST(csv(true).find(",'=1+1,nice,") != std::string::npos);
  BOOST_TEST(csv(true).find("'-5") != std::string::npos);  // as text: the range of a group
  snapshot = snapshot_of({{7, 7, ";=1+1", "t"}});
  add_i64(snapshot, metric("nice", "OrdinalI32", "RangeI32"), {-5});
  BOOST_TEST(csv(false).find(",;=1+1,nice,") != std::string::npos);
  BOOST_TEST(csv(true).find(",\"';=1+1\",nice,") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(csv_has_a_line_for_each_value) {
  Pair pair;
  add_i64(pair.a, metric("nice", "OrdinalI32", "RangeI32"), {0, -5, 0});
  BOOST_TEST(
      csv_of({&pair.a, &pair.b}, {.sort = *parse_sort("name", ReportKind::Compare)}) ==
      "side,section,group,metric,key,unit,baseline,candidate,delta,pct,text_baseline,"
      "text_candidate,text_delta,threads_baseline,"
      "threads_candidate,values_baseline,"
      "rows_baseline,values_candidate,rows_candidate,parts_baseline,parts_of_baseline,"
      "parts_candidate,parts_of_candidate,delta_alive,delta_new,"
      "delta_gone,threads_alive,threads_new,threads_gone\n"
      "both,primary,db,thread_count,,count,1,1,0,0,,,,1,1,1,1,1,1,,,,,,,,,,\n"
      "both,primary,db,run_time_ns,,ns,700,700,0,0,,,,1,1,1,1,1,1,,,,,,,,,,\n"
      "both,primary,db,nr_wakeups,,count,,,,,,,,1,1,0,1,0,1,,,,,,,,,,\n"
      "both,primary,db,policy,,none,,,,,OTHER,OTHER,same,1,1,1,1,1,1,,,,,,,,,,\n"
      "both,primary,db,nice,,none,,,,,0,,,1,1,1,1,0,1,,,,,,,,,,\n"
      "both,primary,web,thread_count,,count,2,3,1,0.5,,,,2,3,2,2,3,3,,,,,,,,,,\n"
      "both,primary,web,run_time_ns,,ns,1500000,3500000,2000000,1.3333333333333333,,,,2,3,2,2,"
      "2,3,,,,,,,,,,\n"
      "both,primary,web,nr_wakeups,,count,,,,,,,,2,3,0,2,0,3,,,,,,,,,,\n"
      "both,primary,web,policy,,none,,,,,OTHER,FIFO (2/3),differs,2,3,2,2,3,3,,,,,,,,,,\n"
      "both,primary,web,nice,,none,,,,,-5..0,,,2,3,2,2,0,3,,,,,,,,,,\n"
      "candidate,primary,new,run_time_ns,,ns,,2000,,,,,,0,1,0,0,1,1,,,,,,,,,,\n"
      "candidate,primary,new,thread_count,,count,,1,,,,,,0,1,0,0,1,1,,,,,,,,,,\n"
      "candidate,primary,new,policy,,none,,,,,,OTHER,,0,1,0,0,1,1,,,,,,,,,,\n");
}

BOOST_AUTO_TEST_CASE(csv_quotes_and_escapes_fields) {
  Snapshot a = snapshot_at(0, {{1, 1, "a,\"b\"\n\x1b[2J\xff", "w"}});
  add_map(a, metric("memory", "KibMap", "MapSum"), {MapValue{{"Rss,x", 4}, {"Swap", 0}}});
  BOOST_TEST(csv_of({&a}, {.metrics = {"memory"}}) ==
             "section,group,metric,key,unit,value,text,threads,values,rows,parts,parts_of\n"
             "primary,\"a,\"\"b\"\"\\n\\x1b[2J\\xff\",memory,\"Rss,x\",kib,4,,1,1,1,,\n"
             "primary,\"a,\"\"b\"\"\\n\\x1b[2J\\xff\",memory,Swap,kib,0,,1,1,1,,\n");
  const std::string all = csv_of({&a}, {.group_by = GroupBy::All, .metrics = {"thread_count"}});
  BOOST_TEST(all.starts_with("section,cgroup,pcomm,comm,metric,key,"));
  BOOST_TEST(all.find("primary,,\"a,") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(wraps_cells_where_possible) {
  using Pieces = std::vector<std::string>;
  BOOST_TEST(fold("/a/bcdefgh", 5) == (Pieces{"/a/", "bcdef", "gh"}),
             boost::test_tools::per_element());
  BOOST_TEST(fold("漢字漢字", 5) == (Pieces{"漢字", "漢字"}), boost::test_tools::per_element());
  BOOST_TEST(fold("漢", 1) == Pieces{"漢"}, boost::test_tools::per_element());
  BOOST_TEST(fold("", 5) == Pieces{""}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(formats_dates_and_wraps_words) {
  BOOST_TEST(format_utc(0) == "1970-01-01 00:00:00Z");
  BOOST_TEST(wrap_words("one two three four", 9) == "one two\n  three\n  four\n");
  BOOST_TEST(wrap_words("one two three four", 0) == "one two three four\n");
  BOOST_TEST(wrap_words("in /a/long/path and 漢字漢", 7) ==
             "in /a/\n  long/\n  path\n  and\n  漢字\n  漢\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::report_text_test
