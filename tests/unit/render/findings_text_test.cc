// Tests findings: the conditions of each rule, the text, and the suggested commands.

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "core/render/findings_text.hpp"
#include "tests/unit/support/screen_windows.hpp"

namespace ctprof::findings_text_test {
namespace {

using namespace screen_windows;

const MetricDef kWaitTime = with_role(with_headline(metric("waited", "MonotonicNs", "SumNs"),
                                                    {"%wait", 5, CTPROF_SHOWN_PERCENT, false, 1e7}),
                                      "wait-time"),
                kDisk = with_headline(metric("disk", "MonotonicNs", "SumNs"),
                                      {"%disk", 6, CTPROF_SHOWN_PERCENT, false, 1e7}),
                kResident = with_role(with_headline(metric("resident", "GaugeBytes",
                                                           "SumGaugeBytes", Entity::Process),
                                                    {"rss", 7, CTPROF_SHOWN_LEVEL, false, 0x1p24}),
                                      "resident");

// Counters of threads beyond ThreadActivity, in 10 s; `resident` is the value at both ends.
struct WaitAndMemoryCells {
  Cells<std::uint64_t> waited{}, disk{}, resident_before{}, resident_after{};
};

Snapshot window_with_counters(const std::vector<ThreadActivity>& all,
                              const WaitAndMemoryCells& more = {}) {
  return window_of(all, 10, {}, [&](Snapshot& snapshot, bool is_end) {
    const auto add_counter = [&](const MetricDef& def, const Cells<std::uint64_t>& cells) {
      if (!cells.empty())
        add_u64(snapshot, def, is_end ? cells : Cells<std::uint64_t>(cells.size(), 0));
    };
    add_counter(kWaitTime, more.waited);
    add_counter(kDisk, more.disk);
    if (!more.resident_after.empty())
      add_u64(snapshot, kResident, is_end ? more.resident_after : more.resident_before);
  });
}

const std::string kRecordWaits = "ctprof record --recorders waits -d 5s";

std::string text_of(const Report& report, std::size_t width = 0, std::size_t lines = 100,
                    const std::string& file = "a.zst") {
  const std::string files[] = {file, "b.zst"};
  return format_findings(report, {.files = files, .record_command = kRecordWaits}, {.width = width},
                         lines);
}

std::string text_of(const Snapshot& window) { return text_of(report_of(window)); }

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

const std::vector<ThreadActivity> kServerAndBurner{{.name = "server", .cpu = 5 * kSecond},
                                                   {.name = "burner", .cpu = 9 * kSecond}};

BOOST_AUTO_TEST_SUITE(findings_text_test)

BOOST_AUTO_TEST_CASE(finds_nothing_below_the_thresholds) {
  BOOST_TEST(
      text_of(window_with_counters({{.name = "busy", .cpu = 10 * kSecond, .memory_after = 1 << 20}},
                                   {.waited = {kSecond}, .disk = {400 * kMs}})) == "");
  BOOST_TEST(text_of(window_with_counters({})) == "");
}

BOOST_AUTO_TEST_CASE(finds_groups_that_wait_for_a_cpu_and_groups_that_ran) {
  const std::string text = text_of(
      window_with_counters(kServerAndBurner, {.waited = Cells<std::uint64_t>{5 * kSecond, 0}}));
  BOOST_TEST(text ==
             "1 server waited 5.0 s for a CPU in 10.0 s (50 % of the time that it was runnable), "
             "while burner ran for 9.0 s\n    ctprof show a.zst --group-by comm --where 'pcomm == "
             "\"server\"'\n");
}

BOOST_AUTO_TEST_CASE(names_groups_that_ran_although_a_condition_excludes_them) {
  const Snapshot window =
      window_with_counters(kServerAndBurner, {.waited = Cells<std::uint64_t>{5 * kSecond, 0}});
  Spec spec;
  BOOST_REQUIRE(add_condition(spec.where, "pcomm == \"server\""));
  const std::string text = text_of(report_of(window, spec));
  BOOST_TEST(contains(text, "server waited 5.0 s for a CPU"), text);
  BOOST_TEST(contains(text, ", while burner ran for 9.0 s\n"), text);
}

// The common cause of these waits is one: too few CPUs. A group that waited, and ran while the
// first one waited, is named once.
BOOST_AUTO_TEST_CASE(names_the_first_of_several_waiting_groups) {
  const std::string text = text_of(window_with_counters(
      {{.name = "server", .cpu = 4 * kSecond}, {.name = "burner", .cpu = kSecond}},
      {.waited = Cells<std::uint64_t>{6 * kSecond, 9 * kSecond}}));
  BOOST_TEST(contains(text, "1 burner waited 9.0 s"), text);
  BOOST_TEST(contains(text, "; server, which ran for 4.0 s, also waited\n"), text);
  BOOST_TEST(!contains(text, "while server"), text);
  BOOST_TEST(!contains(text, "\n2 "), text);
}

BOOST_AUTO_TEST_CASE(a_state_of_the_first_window_is_not_a_finding) {
  const Snapshot last =
      window_with_counters(kServerAndBurner, {.waited = Cells<std::uint64_t>{5 * kSecond, 0}});
  BOOST_TEST(text_of(report_of({&last, &last})) == "");
  const Snapshot first =
      window_with_counters(kServerAndBurner, {.waited = Cells<std::uint64_t>{3 * kSecond, 0}});
  const std::string text = text_of(report_of({&first, &last}));
  BOOST_TEST(contains(text, "; %wait 30.0→50.0\n"), text);
  BOOST_TEST(contains(text, "ctprof compare a.zst b.zst --group-by comm --where"), text);
}

BOOST_AUTO_TEST_CASE(finds_blocked_groups) {
  const std::string text =
      text_of(window_with_counters({{.name = "wal"}}, {.disk = {3 * kSecond}}));
  BOOST_TEST(contains(text, "1 wal was blocked for 3.0 s in 10.0 s (%disk)\n"), text);
  BOOST_TEST(contains(text, "    " + kRecordWaits + "\n"), text);
}

BOOST_AUTO_TEST_CASE(prints_the_command_of_consecutive_findings_once) {
  const Report report = report_of(window_with_counters({{.name = "wal"}, {.name = "log"}},
                                                       {.disk = {3 * kSecond, 2 * kSecond}}));
  const std::string text =
      "1 wal was blocked for 3.0 s in 10.0 s (%disk)\n"
      "2 log was blocked for 2.0 s in 10.0 s (%disk)\n    " +
      kRecordWaits + "\n";
  BOOST_TEST(text_of(report) == text);
  BOOST_TEST(text_of(report, 0, 3) == text);
  BOOST_TEST(text_of(report, 0, 2) == text_of(report, 0, 1));
}

BOOST_AUTO_TEST_CASE(finds_memory_that_grows_in_a_window_and_between_windows) {
  const auto window = [](std::uint64_t before, std::uint64_t after) {
    return window_with_counters(
        {{.name = "grower"}}, {.resident_before = {before << 20}, .resident_after = {after << 20}});
  };
  const Snapshot growing = window(10, 90), stable = window(90, 90), earlier = window(10, 10);
  BOOST_TEST(contains(text_of(growing), "grower grew by 80.0MiB in 10.0 s, to 90.0MiB"),
             text_of(growing));
  const std::string text = text_of(report_of({&earlier, &stable}));
  BOOST_TEST(contains(text, "grower grew by 80.0MiB between the windows, to 90.0MiB"), text);
  BOOST_TEST(text_of(window(90, 10)) == "");
}

BOOST_AUTO_TEST_CASE(finds_growing_numbers_of_threads) {
  std::vector<ThreadActivity> all{{.name = "leaker", .cpu = kSecond}};
  all.insert(all.end(), 25, {.name = "leaker", .cpu = 1, .is_started = true});
  const std::string text = text_of(window_with_counters(all));
  BOOST_TEST(contains(text, "leaker has 26 threads, 25 more than when the window opened"), text);
}

BOOST_AUTO_TEST_CASE(finds_growing_numbers_of_threads_between_windows) {
  const std::vector<ThreadActivity> few{{.name = "leaker", .cpu = kSecond}};
  std::vector<ThreadActivity> all = few;
  all.insert(all.end(), 25, {.name = "leaker", .cpu = 1});
  const Snapshot first = window_with_counters(few);
  Snapshot last = window_with_counters(all);
  const std::string more = "leaker has 26 threads, 25 more than in the first window";
  BOOST_TEST(contains(text_of(report_of({&first, &last})), more));
  // One exit does not change this finding. If most threads exit, they are short-lived.
  all.push_back({.name = "leaker", .cpu = 1});
  last = window_with_counters(all);
  last.window->living_threads = all.size() - 1;
  BOOST_TEST(contains(text_of(report_of({&first, &last})), more),
             text_of(report_of({&first, &last})));
  all.insert(all.end(), 20, {.name = "leaker", .cpu = 1});
  last = window_with_counters(all);
  last.window->living_threads = all.size() - 21;
  BOOST_TEST(!contains(text_of(report_of({&first, &last})), "25 more"));
}

BOOST_AUTO_TEST_CASE(finds_groups_that_run_more_in_the_second_window) {
  const Snapshot first = window_with_counters({{.name = "polls", .cpu = kSecond}}),
                 last = window_with_counters({{.name = "polls", .cpu = 10 * kSecond}});
  BOOST_TEST(contains(text_of(report_of({&first, &last})),
                      "polls ran for 10.0 s in 10.0 s; %cpu 10.0→100"),
             text_of(report_of({&first, &last})));
  BOOST_TEST(text_of(report_of({&last, &first})) == "");
}

BOOST_AUTO_TEST_CASE(prints_at_most_five_findings_that_fit) {
  std::vector<ThreadActivity> all;
  for (char name = 'a'; name <= 'h'; ++name) all.push_back({.name = std::string(2, name)});
  const Report report =
      report_of(window_with_counters(all, {.disk = Cells<std::uint64_t>(all.size(), 3 * kSecond)}));
  BOOST_TEST(find_causes(report).size() == kMaxFindings);
  BOOST_TEST((contains(text_of(report), "\n5 ee ") && !contains(text_of(report), " ff ")),
             text_of(report));
  BOOST_TEST((contains(text_of(report, 0, 5), "\n4 ") && !contains(text_of(report, 0, 5), "\n5 ")));
  BOOST_TEST(contains(text_of(report, 0, 1), "1 aa "));
}

BOOST_AUTO_TEST_CASE(escapes_names_in_commands) {
  for (const char* name : {"x\x1b[2J", "a'b", "a\"b", "--help", "$(id)", "a\\b", "`id`"}) {
    const Report report = report_of(window_with_counters({{.name = name}}, {.disk = {3 * kSecond}}),
                                    {.literal_names = true});
    Finding finding = find_causes(report).at(0);
    finding.next = NextStep::Threads;
    const std::string files[] = {"a.zst"};
    const std::string command =
        make_next_command(report, finding, {.files = files, .record_command = kRecordWaits});
    BOOST_TEST(!contains(text_of(report), "\x1b"));
    // A name with escape characters, quotes or backslashes is omitted from the command.
    const bool is_plain = std::string(name).find_first_of("\x1b'\"\\") == std::string::npos;
    BOOST_TEST(command ==
               "ctprof show a.zst --group-by comm" +
                   (is_plain ? " --where 'pcomm == \"" + std::string(name) + "\"'" : ""));
  }
}

BOOST_AUTO_TEST_CASE(quotes_file_names_for_the_shell) {
  const Report report = report_of(
      window_with_counters(kServerAndBurner, {.waited = Cells<std::uint64_t>{5 * kSecond, 0}}));
  BOOST_TEST(contains(text_of(report, 0, 9, "a b;id.zst"), "ctprof show 'a b;id.zst' --group-by"));
  for (const char* file : {"a\nb.zst", "a'b.zst", "-o.zst", "a\\b"})
    BOOST_TEST(!contains(text_of(report, 0, 9, file), "ctprof show"));
}

BOOST_AUTO_TEST_CASE(no_line_is_wider_than_the_terminal) {
  const Report report = report_of(
      window_with_counters(kServerAndBurner, {.waited = Cells<std::uint64_t>{5 * kSecond, 0}}));
  for (std::size_t width = 24; width <= 120; ++width) {
    std::string text = text_of(report, width);
    for (; !text.empty(); text.erase(0, text.find('\n') + 1))
      BOOST_TEST(get_display_width(text.substr(0, text.find('\n'))) <= width);
  }
}

// Groups of threads have processes as finer rows, and only one thread name can be selected.
BOOST_AUTO_TEST_CASE(threads_continue_with_the_processes_of_their_name) {
  const auto command_of = [](const std::vector<ThreadActivity>& all) {
    const Report report = report_of(
        window_with_counters(all, {.waited = Cells<std::uint64_t>(all.size(), 5 * kSecond)}),
        {.group_by = GroupBy::Comm});
    const std::string files[] = {"a.zst"};
    return make_next_command(report, find_causes(report).at(0), {.files = files});
  };
  BOOST_TEST(command_of({{.name = "server", .cpu = 5 * kSecond}}) ==
             "ctprof show a.zst --group-by pid --where 'comm == \"server\"'");
  BOOST_TEST(command_of({{.name = "worker-1", .cpu = kSecond},
                         {.name = "worker-2", .cpu = kSecond}}) == "");
}

// A shell removes a backslash at the end of a line with the line break.
BOOST_AUTO_TEST_CASE(breaks_commands_only_between_arguments) {
  const Report report = report_of(
      window_with_counters(kServerAndBurner, {.waited = Cells<std::uint64_t>{5 * kSecond, 0}}));
  const std::string text = text_of(report, 50);
  BOOST_TEST(contains(text,
                      "\n    ctprof show a.zst --group-by comm --where \\\n"
                      "    'pcomm == \"server\"'\n"),
             text);
}

BOOST_AUTO_TEST_CASE(continues_with_the_specified_command_if_names_of_sides_are_no_arguments) {
  const Report report = report_of(
      window_with_counters(kServerAndBurner, {.waited = Cells<std::uint64_t>{5 * kSecond, 0}}));
  const std::string files[] = {"log, 15:00 to 15:10"};
  const Finding finding = find_causes(report).at(0);
  BOOST_TEST(make_next_command(report, finding,
                               {.files = files, .command = "ctprof show log --since '15:00'"}) ==
             "ctprof show log --since '15:00' --group-by comm --where 'pcomm == \"server\"'");
  BOOST_TEST(
      make_next_command(report, finding, {.files = files, .command = "ctprof show log\x1b"}) == "");
}

// A shell joins the lines of a command, and quotes are closed in each.
BOOST_AUTO_TEST_CASE(a_command_of_several_lines_can_be_pasted_into_a_shell) {
  const Report report = report_of(
      window_with_counters(kServerAndBurner, {.waited = Cells<std::uint64_t>{5 * kSecond, 0}}));
  const std::string command = "ctprof show a.zst --group-by comm --where 'pcomm == \"server\"'";
  for (std::size_t width = 32; width <= 120; ++width) {
    std::string text = text_of(report, width);
    text.erase(0, text.find("    ctprof") + 4);
    text.pop_back();
    for (auto at = text.find(" \\\n    "); at != text.npos; at = text.find(" \\\n    "))
      text.replace(at, 7, " ");
    BOOST_TEST(text == command, width);
  }
}

BOOST_AUTO_TEST_CASE(the_help_has_a_threshold_for_each_rule) {
  const std::string help = describe_finding_rules({});
  for (const FindingRule& rule : finding_rules()) {
    BOOST_TEST(contains(help, "\n" + std::string(rule.name) + ": "), rule.name);
    BOOST_TEST(rule.threshold.find_first_of("0123456789") != std::string_view::npos);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::findings_text_test
