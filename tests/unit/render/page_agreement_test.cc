// Tests that a report's page shows the figures and causes of the text, and which figures are behind
// a switch.

#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/markup.hpp"
#include "core/compare/report/findings.hpp"
#include "core/page/page_cards.hpp"
#include "core/page/page_rows.hpp"
#include "core/page/report_page.hpp"
#include "core/render/findings_text.hpp"
#include "tests/unit/render/window_report.hpp"
#include "tests/unit/support/several_runs.hpp"

namespace ctprof::page_agreement_test {
namespace {

using namespace several_runs;

const std::vector<std::string> kFiles{"a.zst", "b.zst"};
const std::string kRecordWaits = "ctprof record --recorders waits -d 5s";

std::string page_of(const Report& report) {
  return make_report_page(report, kFiles, {"ctprof report", false, kRecordWaits});
}
std::string text_of(const Report& report) {
  return format_screen(report, kFiles, {{1000, false, false}, 24, 0, kRecordWaits});
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }
std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++found;
  return found;
}
std::string markup(std::string_view text) {
  std::string out;
  append_markup(out, text);
  return out;
}

// Returns the row of the table of all groups that begins with this name.
std::string row_of(const std::string& text, const std::string& group) {
  const auto at = text.rfind("\n" + group + " ");
  return at == text.npos ? "" : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

// Returns "1.30" for "1.30Mi": of two figures with the same prefix, the text shows it once.
std::string without_unit(std::string figure, const std::string& other) {
  const auto unit = [](const std::string& text) {
    const auto at = text.find_last_of("0123456789");
    return at == text.npos ? std::string() : text.substr(at + 1);
  };
  if (!unit(figure).empty() && unit(figure) == unit(other))
    figure.resize(figure.size() - unit(figure).size());
  return figure;
}

// Checks that each figure of the page is in the row of its group, and in the page twice: in a card
// and in the table of all figures.
void check_figures(const Report& report) {
  const std::string text = text_of(report), page = page_of(report);
  const PageRows rows = make_page_rows(report, false);
  BOOST_REQUIRE(!rows.rows.empty());
  for (const PageRow& row : rows.rows) {
    const std::string line = row_of(text, row.group);
    std::string printed = row.texts[0], cells;
    for (const std::string& side : row.texts) cells += "<td class=\"n\">" + markup(side) + "</td>";
    if (row.texts.size() > 1 && row.texts[1] != row.texts[0])
      printed = without_unit(row.texts[0], row.texts[1]) + (row.is_insignificant ? "~" : "→") +
                row.texts[1];
    BOOST_TEST(contains(line, printed), row.group + " " + row.metric + " " + printed + ": " + line);
    BOOST_TEST(contains(page, "<tr><th scope=\"row\">" + markup(row.metric) + "</th>" + cells),
               row.metric + cells);
  }
  BOOST_TEST(count(page, "<tr class=\"row") == rows.rows.size());
}

const std::vector<ThreadActivity> kFirst{
    {.name = "server", .cpu = 3 * kSecond, .switches = 4000, .memory_after = 80u << 20},
    {.name = "cron", .cpu = 200 * kMs, .switches = 150, .memory_after = 5u << 20}},
    kSecondWindow{
        {.name = "server", .cpu = 9 * kSecond, .switches = 9000, .memory_after = 200u << 20},
        {.name = "cron", .cpu = 300 * kMs, .switches = 150, .memory_after = 5u << 20},
        {.name = "new", .cpu = kSecond, .switches = 300, .memory_after = 9u << 20}};

BOOST_AUTO_TEST_SUITE(page_agreement_test)

BOOST_AUTO_TEST_CASE(a_page_of_a_window_shows_the_figures_of_the_screen) {
  const Snapshot window = window_of(kFirst);
  check_figures(report_of(window));
}

BOOST_AUTO_TEST_CASE(a_page_of_two_windows_shows_the_figures_of_the_screen) {
  const Snapshot first = window_of(kFirst), last = window_of(kSecondWindow);
  check_figures(report_of({&first, &last}));
}

BOOST_AUTO_TEST_CASE(a_page_of_several_runs_shows_the_figures_of_the_screen) {
  for (const auto& after : {kAfter, kSame}) check_figures(TwoSides(kBefore, after).report());
}

BOOST_AUTO_TEST_CASE(a_page_begins_with_the_causes_and_commands_of_the_text) {
  const Snapshot first = window_of(kFirst), last = window_of(kSecondWindow);
  const Report report = report_of({&first, &last});
  const std::string text = text_of(report), page = page_of(report);
  const auto findings = find_causes(report);
  BOOST_REQUIRE(!findings.empty());
  for (const Finding& finding : findings) {
    const std::string sentence = format_finding(finding),
                      command = make_next_command(report, finding, {kFiles, kRecordWaits});
    BOOST_TEST(contains(text, sentence), sentence);
    BOOST_TEST(contains(text, command), command);
    BOOST_TEST(contains(page, "<li><p>" + markup(sentence) + "</p><code>" + markup(command) +
                                  "</code></li>"),
               sentence);
  }
  BOOST_TEST(page.find("class=\"causes\"") < page.find("class=\"verdict\""));
}

// A group that one side lacks has no level there; its change is not a number.
BOOST_AUTO_TEST_CASE(marks_groups_that_one_side_lacks) {
  const Snapshot first = window_of(kFirst), last = window_of(kSecondWindow);
  for (const bool is_new : {true, false}) {
    const Report report = is_new ? report_of({&first, &last}) : report_of({&last, &first});
    const std::string page = page_of(report),
                      level = is_new ? "<td class=\"n\">-</td><td class=\"n\">9.00Mi</td>"
                                     : "<td class=\"n\">9.00Mi</td><td class=\"n\">-</td>";
    BOOST_TEST(contains(page, "<th scope=\"row\">held</th>" + level + "<td class=\"n\">" +
                                  (is_new ? "new" : "gone") + "</td>"),
               page);
  }
}

BOOST_AUTO_TEST_CASE(each_group_has_one_card_in_the_order_of_the_screen) {
  const Snapshot first = window_of(kFirst), last = window_of(kSecondWindow);
  const Report report = report_of({&first, &last});
  const std::string page = page_of(report);
  BOOST_TEST(count(page, "<section class=\"card\">") == report.screen()->rows.size());
  std::size_t at = page.find("<section class=\"card\">");
  for (const ScreenRow& row : report.screen()->rows) {
    at = page.find("<h3>" + report.grouping().names[row.group] + "</h3>", at);
    BOOST_REQUIRE(at != page.npos);
  }
}

BOOST_AUTO_TEST_CASE(counts_the_groups_without_a_card) {
  for (const std::size_t more : {0, 1, 5}) {
    std::vector<ThreadActivity> activities;
    for (std::size_t at = 0; at < kMaxCards + more; ++at)
      activities.push_back({.name = std::string("g") + static_cast<char>('a' + at),
                            .cpu = kSecond + at * kMs,
                            .switches = 5000,
                            .memory_after = 80u << 20});
    const Snapshot window = window_of(activities);
    const std::string page = page_of(report_of({&window}));
    BOOST_TEST(count(page, "<section class=\"card\">") == kMaxCards);
    const std::string words = more == 1 ? "1 more group" : std::to_string(more) + " more groups";
    BOOST_TEST(count(page, words + " in the table of all figures.") == (more > 0 ? 1u : 0u));
    BOOST_TEST(count(page, " in the table of all figures.") == (more > 0 ? 1u : 0u));
  }
}

BOOST_AUTO_TEST_CASE(insignificant_figures_are_behind_a_switch) {
  const std::string differs = page_of(TwoSides(kBefore, kAfter).report()),
                    same = page_of(TwoSides(kBefore, kSame).report());
  const auto card = [](const std::string& page, const std::string& group) {
    const auto at = page.find("<section class=\"card\">\n<h3>" + group + "</h3>");
    return page.substr(at, page.find("</section>", at) - at);
  };
  const std::string significant = card(differs, "app"), unchanged = card(same, "app");
  BOOST_TEST(significant.find("%cpu") < significant.find("<details>"), significant);
  BOOST_TEST(unchanged.find("<details>") < unchanged.find("%cpu"), unchanged);
  BOOST_TEST(contains(unchanged, " without a significant difference</summary>"), unchanged);
}

BOOST_AUTO_TEST_CASE(single_runs_have_bars_and_several_runs_have_dots) {
  const Snapshot first = window_of(kFirst), last = window_of(kSecondWindow);
  const std::string one = page_of(report_of({&first, &last})),
                    many = page_of(TwoSides(kBefore, kAfter).report());
  BOOST_TEST(contains(one, "<svg class=\"s bars\""));
  BOOST_TEST(contains(one, "<rect class=\"a\" y=\"2\" width=\"43\""));  // 30 of 90 % of 128 pixels
  BOOST_TEST(contains(one, "<rect class=\"b\" y=\"10\" width=\"128\""));
  BOOST_TEST(!contains(many, "<svg class=\"s bars\""));
  // Each side has its own line.
  const auto path_of = [&](const std::string& side) {
    const auto at = many.find("<path class=\"" + side + "\"");
    return many.substr(at, many.find("/>", at) - at);
  };
  BOOST_TEST(count(path_of("a"), " 5h0") == std::size(kBefore));
  BOOST_TEST(count(path_of("b square"), " 13h0") == std::size(kAfter));
}

// `record -p` and `--cgroup`: the threads of the window did not use the time of the whole host.
BOOST_AUTO_TEST_CASE(the_first_sentence_separates_recorded_threads_from_the_host) {
  window_report::WindowEnds ends;
  ends.add_host();
  Snapshot window = ends.window();
  const auto page = [&] { return page_of(window_report::report_of(window)); };
  BOOST_TEST(contains(page(), "s CPUs were busy for "));
  BOOST_TEST(!contains(page(), "recorded thread"));
  window.window->is_partial = true;
  const Report report = window_report::report_of(window);
  const Accounting& cpu = *report.sides()[0].window->accounting;
  const auto percent = [&](double ns) { return std::to_string(std::lround(100 * ns / cpu.wall)); };
  const std::string text = window_report::text_of(window, {}, 1000);
  BOOST_TEST(contains(text, "CPU " + percent(cpu.busy) + " % of 200 %"), text);
  const std::string sentence = "recorded threads ran for " + percent(cpu.living + cpu.exited);
  BOOST_TEST(contains(page(), sentence), sentence);
  BOOST_TEST(contains(page(), "busy for " + percent(cpu.busy)), page());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::page_agreement_test
