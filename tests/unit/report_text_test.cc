// Reports as text: the tables that a user sees, whole, and what they keep from a terminal.

#define BOOST_TEST_MODULE report_text
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>

#include "core/render/heading.hpp"
#include "core/render/leftovers.hpp"
#include "core/render/printable.hpp"
#include "core/render/report_text.hpp"
#include "tests/unit/hand_made.hpp"

namespace ctprof {
namespace {

using namespace hand_made;

const RuleBook book;

Snapshot taken(std::uint64_t second, const std::vector<Thread>& threads) {
  Snapshot s = snapshot_of(threads);
  s.meta.hostname = "box";
  s.meta.boot_id = "b";
  s.meta.start = {1'785'499'200'000'000'000 + second * 1'000'000'000, second * 1'000'000'000};
  return s;
}

std::string text_of(std::vector<const Snapshot*> sides, const Spec& spec, const TextLayout& layout) {
  const auto report = Report::make(sides, spec, {&book, {}});
  BOOST_REQUIRE_MESSAGE(report, report.error().text);
  const std::string files[] = {"before.zst", "after.zst"};
  return report_text(*report, std::span(files).first(sides.size()), layout);
}

struct Pair {
  Snapshot a = taken(0, {{1, 1, "web", "w"}, {1, 2, "web", "w"}, {5, 5, "db", "d"}});
  Snapshot b = taken(60, {{1, 1, "web", "w"}, {1, 2, "web", "w"}, {1, 3, "web", "w"}, {5, 5, "db", "d"}, {6, 6, "new", "n"}});
  Pair() {
    const MetricDef run = metric("run_time_ns", "MonotonicNs", "SumNs"),
                    none = metric("nr_wakeups", "MonotonicCount", "SumCount");
    add_u64(a, run, {1'000'000, 500'000, 700});
    add_u64(b, run, {3'000'000, 500'000, {}, 700, 2'000});
    add_u64(a, none, {{}, {}, {}}, Gap::Unsupported);
    add_u64(b, none, {{}, {}, {}, {}, {}}, Gap::Unsupported);
    add_text(a, metric("policy", "CategoricalString", "Mode"), {"OTHER", "OTHER", "OTHER"});
    add_text(b, metric("policy", "CategoricalString", "Mode"), {"FIFO", "FIFO", "OTHER", "OTHER", "OTHER"});
  }
};

BOOST_AUTO_TEST_CASE(compare_tells_what_moved) {
  const Pair pair;
  BOOST_TEST(text_of({&pair.a, &pair.b}, {.moved_only = true}, {}) ==
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
             "group  threads  where it weighs most\n"
             "new          1  run_time_ns 2.000µs\n"
             "\n"
             "No value on either side of (Unsupported): nr_wakeups\n");
}

BOOST_AUTO_TEST_CASE(show_tells_what_there_is) {
  const Pair pair;
  BOOST_TEST(text_of({&pair.a}, {.limit = 4, .moved_only = true}, {}) ==
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
             "No value of (Unsupported): nr_wakeups\n");
}

BOOST_AUTO_TEST_CASE(lines_fit_the_terminal) {
  Snapshot a = taken(0, {{1, 1, std::string(300, 'x'), "w"}, {2, 2, "漢字漢字漢字漢字漢字", "w"}});
  Snapshot b = taken(1, {{1, 1, std::string(300, 'x'), "w"}, {2, 2, "漢字漢字漢字漢字漢字", "w"}});
  const MetricDef def = metric("a_metric_with_a_name_that_goes_on_for_a_while_ns", "MonotonicNs", "SumNs");
  add_u64(a, def, {1'234'567, 999});
  add_u64(b, def, {7'654'321, 998});
  for (const std::size_t width : {72, 80, 120, 200}) {
    const std::string text = text_of({&a, &b}, {.moved_only = true}, {width, false});
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
      BOOST_TEST(display_width(std::string_view(text).substr(at, text.find('\n', at) - at)) <= width);
    BOOST_TEST(text.find("1.235ms → 7.654ms") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(nothing_from_the_system_reaches_the_terminal_unescaped) {
  const std::string evil = "e\x1b]0;x\x07\n\xe2\x80\xae\xff\xc2\x9b";
  Snapshot a = taken(0, {{1, 1, evil, "w"}}), b = taken(1, {{1, 1, evil, "w"}, {2, 2, evil + "2", "w"}});
  a.meta.hostname = evil;
  add_text(a, metric("policy", "CategoricalString", "Mode"), {evil});
  add_text(b, metric("policy", "CategoricalString", "Mode"), {"OTHER", evil});
  MetricDef odd = metric(evil, "MonotonicNs", "no.such.rule" + evil);
  odd.fallback = "SumNs";
  add_u64(a, odd, {1});
  add_u64(b, odd, {2, 3});
  const std::string text = text_of({&a, &b}, {.moved_only = true}, {});
  for (const std::string_view bad : {"\x1b", "\x07", "\xe2\x80\xae", "\xff", "\xc2\x9b"})
    BOOST_TEST(text.find(bad) == std::string::npos);
  BOOST_TEST(text.find("e\\x1b]0;x\\x07\\n\\u202e\\xff\\u009b") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(headings_say_how_the_files_stand_to_each_other) {
  const auto relation = [](auto change) {
    Pair pair;
    change(pair.b.meta);
    const std::string text = text_of({&pair.a, &pair.b}, {}, {});
    const auto line = text.find('\n', text.find("candidate  after")) + 1;
    return text.substr(line, text.find('\n', line) - line);
  };
  BOOST_TEST(relation([](Meta& m) { m.boot_id = "other"; }) == "same host, different boots");
  BOOST_TEST(relation([](Meta& m) { m.boot_id = "other", m.hostname = "rack"; }) == "different boots, different hosts");
  BOOST_TEST(relation([](Meta& m) { m.boot_id = ""; }) == "whether both are of one boot is not known");
  BOOST_TEST(relation([](Meta& m) { m.user_hz = 250; }) ==
             "same boot, 60.000s apart, different clock ticks (100 and 250 a second)");
}

// What stands below the line on boots.
std::string hosts(std::string before, std::string after, const std::string& boot = "b") {
  Pair pair;
  if (!before.empty()) pair.a.objects["host"] = std::move(before);
  if (!after.empty()) pair.b.objects["host"] = std::move(after);
  pair.b.meta.boot_id = boot;
  const std::string text = text_of({&pair.a, &pair.b}, {}, {});
  const auto from = text.find('\n', text.find("boot")) + 1;
  return text.substr(from, text.find("\n\n") + 1 - from);
}

BOOST_AUTO_TEST_CASE(headings_say_how_the_hosts_differ) {
  BOOST_TEST(hosts("{}", "") == "host context unavailable\n");
  BOOST_TEST(hosts(R"({"arch":"x"})", R"({"arch":"x"})") == "");
  BOOST_TEST(hosts(R"({"arch":"x"})", R"({"arch":"x"})", "other") == "host contexts are alike\n");
  BOOST_TEST(
      hosts(
          R"({"arch":"x","cpu_model":"A","kernel_cmdline":"ro quiet a=1","sched_tunables":{"sched_rr_timeslice_ms":"100"}})",
          R"({"arch":"x","cpu_model":"A","kernel_cmdline":"ro a=2","online_cpus":4,"sched_tunables":{"sched_rr_timeslice_ms":"50"}})") ==
      "host                                  baseline   candidate\n"
      "kernel_cmdline                        quiet a=1  a=2\n"
      "sched_tunables.sched_rr_timeslice_ms  100        50\n"
      "online_cpus                           -          4\n");
  BOOST_TEST(hosts(R"({"kernel_cmdline":"a b"})", R"({"kernel_cmdline":"b a"})") ==
             "host            baseline     candidate\n"
             "kernel_cmdline  (reordered)  (reordered)\n");
}

BOOST_AUTO_TEST_CASE(many_differences_of_hosts_are_counted) {
  std::string before = "{", after = "{";
  for (int i = 0; i < 12; ++i) {
    before += (i ? ",\"k" : "\"k") + std::to_string(i) + "\":1";
    after += (i ? ",\"k" : "\"k") + std::to_string(i) + "\":2";
  }
  const std::string text = hosts(before + "}", after + "}");
  BOOST_TEST(std::count(text.begin(), text.end(), '\n') == 11);  // header, nine, how many more
  BOOST_TEST(text.ends_with("3 more differences in --format json\n"));
}

BOOST_AUTO_TEST_CASE(small_words) {
  BOOST_TEST(counted(1, "group") == "1 group");
  BOOST_TEST(counted(0, "process") == "0 processes");
  BOOST_TEST(utc(0) == "1970-01-01 00:00:00Z");
  BOOST_TEST(wrapped("one two three four", 9) == "one two\n  three\n  four\n");
  BOOST_TEST(wrapped("one two three four", 0) == "one two three four\n");
}

}  // namespace
}  // namespace ctprof
