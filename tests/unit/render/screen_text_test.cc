// Tests the first screen as text and as JSON: the rows that fit, and the summary of the rest.

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/render/report_json.hpp"
#include "core/render/screen_text.hpp"
#include "tests/unit/support/screen_windows.hpp"
#include "tests/unit/support/several_runs.hpp"

namespace ctprof::screen_text_test {
namespace {

using namespace screen_windows;

std::string text_of(const Report& report, const ScreenLayout& layout) {
  const std::string files[] = {"a.zst", "b.zst"};
  return format_screen(report, files, layout);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

BOOST_AUTO_TEST_SUITE(screen_text_test)

BOOST_AUTO_TEST_CASE(prints_the_rows_that_fit_and_counts_the_rest) {
  std::vector<ThreadActivity> all;
  for (int i = 0; i < 60; ++i)
    all.push_back(
        {.name = std::string(1, 'a' + i % 26) + std::string(i / 26 + 1, 'x'), .cpu = kSecond});
  const Snapshot window = window_of(all);
  const Report report = report_of(window, {.literal_names = true});
  const std::string text = text_of(report, {.text = {.width = 80}, .lines = 24});
  BOOST_TEST(std::count(text.begin(), text.end(), '\n') == 23);
  BOOST_TEST(contains(text, "more rows"));
  const auto with = [&](std::size_t rows) {
    return text_of(report, {.text = {.width = 80}, .lines = 24, .rows = rows});
  };
  BOOST_TEST((contains(with(2), "58 more rows (--limit 0)") && !contains(with(0), "more row")));
}

BOOST_AUTO_TEST_CASE(drops_columns_that_decide_last) {
  const Snapshot window = window_of({{.name = "quite-a-long-name", .cpu = 1, .switches = 9000},
                                     {.name = "b", .memory_after = 3 << 20}});
  const Report report = report_of(window, {.literal_names = true});
  const std::string text = text_of(report, {.text = {.width = 56}, .lines = 24});
  for (const char* part : {"process", "threads", "%cpu", "sw/s", "held", "for width %idle"})
    BOOST_TEST(contains(text, part), part << " in\n" << text);
  BOOST_TEST(!contains(text_of(report, {.text = {.width = 120}, .lines = 24}), "for width"));
}

BOOST_AUTO_TEST_CASE(two_windows_show_both_values_and_the_largest_change) {
  const Snapshot before = window_of({{.name = "a", .cpu = kSecond}}),
                 after = window_of({{.name = "a", .cpu = 4 * kSecond, .memory_after = 3 << 20}});
  const Report report = report_of({&before, &after});
  const std::string text = text_of(report, {.text = {.width = 100}, .lines = 24});
  for (const char* part :
       {"baseline: a.zst", "candidate: b.zst", "held 0→3.00Mi +3.00Mi", "10.0→40.0"})
    BOOST_TEST(contains(text, part), part << " in\n" << text);
  BOOST_TEST(text.find("\none run per side cannot show") > text.find("\nprocess "), text);
}

// A column that differs can show the cause.
BOOST_AUTO_TEST_CASE(two_windows_drop_columns_without_a_difference_first) {
  const Snapshot before =
                     window_of({{.name = "a", .cpu = kSecond, .idle = kSecond, .memory_after = 1}}),
                 after = window_of({{.name = "a",
                                     .cpu = 4 * kSecond,
                                     .idle = kSecond,
                                     .memory_after = 300 << 20}});
  const Report report = report_of({&before, &after});
  std::size_t only_different = 0;
  for (std::size_t width = 50; width <= 120; ++width) {
    const std::string text = text_of(report, {.text = {.width = width}, .lines = 24});
    const std::string header = text.substr(text.find("\nprocess "), 200);
    const std::string columns = header.substr(0, header.find('\n', 1));
    only_different += contains(columns, "held") && !contains(columns, "%idle");
  }
  BOOST_TEST(only_different > 0u);
}

BOOST_AUTO_TEST_CASE(marks_the_value_that_determines_the_place_of_a_row) {
  const Snapshot window = window_of({{.name = "runs", .cpu = 5 * kSecond},
                                     {.name = "grows", .cpu = kSecond, .memory_after = 3 << 20}});
  const std::string text = text_of(report_of(window), {.text = {}, .lines = 24});
  for (const char* part :
       {"50.0*", "10.0 ", "3.00Mi +3.00Mi*", "* orders the row (ctprof help %CPU)"})
    BOOST_TEST(contains(text, part), part << " in\n" << text);
  Spec sorted;
  sorted.sort = *parse_sort("-%cpu", ReportKind::Show);
  const std::string by_user = text_of(report_of(window, sorted), {.text = {}, .lines = 24});
  BOOST_TEST(!contains(by_user, "*"), by_user);
  BOOST_TEST(by_user.find("grows") < by_user.find("runs"), by_user);
}

// The kernel does not account for delays.
BOOST_AUTO_TEST_CASE(omits_columns_without_values) {
  Snapshot window = window_of({{.name = "a", .cpu = kSecond}});
  window.threads().find("switches")->gaps()[0] = static_cast<ctprof_gap>(Gap::SwitchedOff);
  for (const std::size_t width : {0, 40, 120}) {
    const std::string text = text_of(report_of(window), {.text = {.width = width}, .lines = 24});
    BOOST_TEST(!contains(text, "sw/s"), text);
  }
}

// Returns the line about metrics that were not measured.
std::string find_unmeasured_line(const std::string& text) {
  const auto begin = text.find("not measured here");
  return begin == text.npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
}

// Thread a has a value of only some metrics that thread b has.
BOOST_AUTO_TEST_CASE(conditions_do_not_change_the_number_of_unmeasured_metrics) {
  Snapshot window =
      window_of({{.name = "a", .cpu = kSecond}, {.name = "b", .cpu = 2 * kSecond, .switches = 9}});
  window.threads().find("switches")->gaps()[0] = static_cast<ctprof_gap>(Gap::NotApplicable);
  for (ctprof_gap& gap : window.threads().find("idle")->gaps())
    gap = static_cast<ctprof_gap>(Gap::SwitchedOff);
  const std::string all = text_of(report_of(window), {.text = {}, .lines = 24});
  Spec spec;
  BOOST_REQUIRE(add_condition(spec.where, "pcomm == \"a\""));
  const std::string some = text_of(report_of(window, spec), {.text = {}, .lines = 24});
  BOOST_TEST(contains(all, "not measured here: 1 of "), all);
  BOOST_TEST(find_unmeasured_line(all) == find_unmeasured_line(some));
}

BOOST_AUTO_TEST_CASE(facts_about_single_runs_follow_the_table) {
  several_runs::TwoSides sides(several_runs::kBefore, several_runs::kAfter);
  for (Snapshot& run : sides.runs) run.window->notes.push_back("the host slept");
  sides.runs[0].window->notes.push_back("a CPU was switched off");
  const std::string text = several_runs::screen_of(sides.report());
  const auto table = text.find("\nprocess ");
  BOOST_REQUIRE(table != text.npos);
  BOOST_TEST(std::count(text.data(), text.data() + table, '\n') <= 9, text);
  for (const char* part : {"\nbaseline, 4 of 4 runs: the host slept\n",
                           "\nbaseline, 1 of 4 runs: a CPU was switched off\n",
                           "\ncandidate, 4 of 4 runs: the host slept\n"})
    BOOST_TEST((text.find(part) != text.npos && text.find(part) > table), part << text);
  BOOST_TEST(text.find("taken one side after the other") < table);
}

// A thousand sleeping threads are blocked for 100 % of their time, not for 100,000 %.
BOOST_AUTO_TEST_CASE(shows_blocked_time_per_thread) {
  const std::vector<ThreadActivity> pool(3, {.name = "pool", .cpu = kSecond, .idle = 6 * kSecond});
  const std::string text = text_of(report_of(window_of(pool)), {.text = {}, .lines = 24});
  BOOST_TEST((contains(text, "60.0") && !contains(text, "180")), text);
}

BOOST_AUTO_TEST_CASE(shows_memory_growth_inside_the_second_window) {
  const auto window = [](std::uint64_t before, std::uint64_t after) {
    return window_of({{.name = "a", .memory_before = before << 20, .memory_after = after << 20}});
  };
  const Snapshot first = window(50, 50), last = window(50, 90);
  const std::string text = text_of(report_of({&first, &last}), {.text = {}, .lines = 24});
  BOOST_TEST(contains(text, "held 50.0→90.0Mi +40.0Mi "), text);
  BOOST_TEST(contains(text, "50.0→90.0Mi (+40.0Mi)"), text);
}

BOOST_AUTO_TEST_CASE(two_windows_show_started_threads_of_each) {
  const ThreadActivity lives{.name = "a", .cpu = kSecond},
      started{.name = "a", .cpu = 1, .is_started = true};
  const Snapshot before = window_of({lives, started}), after = window_of({lives, started, started});
  const std::string text = text_of(report_of({&before, &after}), {.text = {}, .lines = 24});
  BOOST_TEST(contains(text, " 2→3 +1→2  "), text);
  const std::string same = text_of(report_of({&before, &before}), {.text = {}, .lines = 24});
  BOOST_TEST(contains(same, " 2 +1  "), same);
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    widest = std::max(widest, get_display_width(line));
  return widest;
}

BOOST_AUTO_TEST_CASE(no_line_is_wider_than_the_terminal) {
  const std::vector<ThreadActivity> did{
      {.name = "日本語のプロセスの名前は長い", .cpu = 3 * kSecond},
      {.name = "a", .cpu = kSecond, .switches = 123456, .idle = kSecond},
      {.name = "b", .memory_before = 1 << 30, .memory_after = 9 << 20},
      {.name = "b", .cpu = 5 * kSecond, .is_started = true}};
  const Snapshot one = window_of(did), two = window_of({did[1], did[2]}, 3);
  for (const auto& sides : {std::vector{&one}, {&one, &two}, {&one, &two, &one}})
    for (std::size_t width = 24; width <= 200; ++width) {
      const Report report = report_of(sides, {.literal_names = true});
      const std::string files[] = {"/a/directory/with/a/long-name/a.zst", "b.zst", "c.zst"};
      const std::string text =
          format_screen(report, files, {.text = {.width = width}, .lines = 24, .rows = 0});
      BOOST_TEST(widest_line(text) <= width, "at " << width << ":\n" << text);
    }
}

// Joins lines that were wrapped.
std::string joined_text(std::string text) {
  for (auto at = text.find("\n  "); at != text.npos; at = text.find("\n  ", at))
    text.replace(at, 3, " ");
  return text;
}

BOOST_AUTO_TEST_CASE(drops_the_largest_change_of_two_windows_last) {
  const ThreadActivity lives{.name = "a-long-name-or-so", .cpu = kSecond},
      started{.name = "a-long-name-or-so", .cpu = 1, .is_started = true};
  std::vector<ThreadActivity> more(10, started);
  more.insert(more.begin(), {.name = "a-long-name-or-so", .cpu = 4 * kSecond});
  const Snapshot before = window_of({lives}), after = window_of(more);
  const Report report = report_of({&before, &after}, {.literal_names = true});
  const std::vector<std::pair<std::size_t, std::vector<const char*>>> expected_parts{
      {100, {" 1→11 +0→10  %cpu 10.0→40.0 +30.0  ", "  held\n"}},
      {74, {" 1→11 +0→10  %cpu 10.0→40.0 +30.0  ", "  %idle\n", "groups, for width held,"}},
      {56,
       {" 1→11 +10  %cpu 10.0→40.0 +30.0\n", "threads started and exited before, for width %cpu"}},
      {44, {"a-lon", "e-or-so  1→11 +10  %cpu 10.0→40.0\n", "threads started and exited before,"}},
      {37, {" 1→11  %cpu 10.0→40.0\n", "threads started and exited, for width %cpu sw/s"}},
      {34, {"so  %cpu 10.0→40.0\n", "threads, for width %cpu sw/s"}},
      {26, {"  %cpu\n", "so  10.0→40.0\n", "threads, for width moved most sw/s"}}};
  for (const auto& [width, parts] : expected_parts) {
    const std::string text = joined_text(text_of(report, {.text = {.width = width}, .lines = 24}));
    for (const char* part : parts)
      BOOST_TEST(contains(text, part), part << " at " << width << " in\n" << text);
  }
  BOOST_TEST(!contains(text_of(report, {.text = {.width = 100}, .lines = 24}), "for width"));
}

// --- JSON
// ----------------------------------------------------------------------------------------------

class TextSink final : public Sink {
 public:
  Result<void> write(std::string_view more) override { return text += more, Result<void>{}; }
  std::string text;
};

BOOST_AUTO_TEST_CASE(json_contains_all_rows) {
  const Snapshot window = window_of(
      {{.name = "a", .cpu = kSecond, .memory_after = 3 << 20}, {.name = "b", .cpu = 2 * kSecond}});
  const std::string files[] = {"a.zst"};
  TextSink text_sink;
  BOOST_REQUIRE(write_report_json(report_of(window, {.limit = 1}), files, text_sink));
  const auto json = boost::json::parse(text_sink.text);
  const auto& screen = json.at("screen");
  BOOST_TEST(screen.at("headlines").as_array().size() == 4u);
  BOOST_TEST(screen.at("rows").as_array().size() == 1u);
  BOOST_TEST(screen.at_pointer("/rows/0/group").as_string() == "a");
  BOOST_TEST(screen.at_pointer("/rows/0/decided_by").as_string() == "held");
  BOOST_TEST(screen.at_pointer("/rows/0/figures/0/0/value").to_number<double>() == 10.0);
  BOOST_TEST(screen.at_pointer("/rows/0/figures/3/0/change").to_number<double>() ==
             3.0 * (1 << 20));
  BOOST_TEST(screen.at_pointer("/left_out/rows").to_number<int>() == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::screen_text_test
