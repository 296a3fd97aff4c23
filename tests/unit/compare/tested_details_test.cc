// Tests the details of sides with several runs: rows with and without a significance test, and
// their output.

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "core/page/page_rows.hpp"
#include "core/page/report_page.hpp"
#include "core/render/report_text.hpp"
#include "tests/unit/support/test_sides.hpp"

namespace ctprof::tested_details_test {
namespace {

using namespace test_sides;

// Returns four runs per side. `more` shifts significantly, `varies` only varies, and `tiny` has the
// largest shift but is too small to be tested.
std::vector<Snapshot> runs_to_test() {
  std::vector<Snapshot> runs;
  constexpr std::uint64_t kVariation[] = {0, 50'000, 10'000, 40'000, 41'000, 10'000, 50'000, 0};
  for (std::uint64_t run = 0; run < 8; ++run) {
    const bool is_after = run >= 4;
    runs.push_back(run_of({{"more", is_after ? 1'300'000 + run : 1'000'000 + run, 1000},
                           {"tiny", is_after ? 90 : 1, 1000},
                           {"varies", 1'000'000 + kVariation[run], 1000}}));
  }
  return runs;
}

std::vector<std::string> groups_of(const Report& report) {
  std::vector<std::string> groups;
  for (const Section& section : report.sections())
    for (const RowPosition& row : section.rows)
      if (report.metrics()[row.metric].name == "run_time_ns")
        groups.push_back(report.grouping().names[row.group]);
  return groups;
}

Report details_report() {
  static const std::vector<Snapshot> runs = runs_to_test();
  Spec spec;
  spec.side_sizes = {4, 4};
  spec.only_changed = spec.tests_rows = true;
  std::vector<const Snapshot*> pointers;
  for (const Snapshot& run : runs) pointers.push_back(&run);
  auto report = Report::make(pointers, spec, {&kRuleSet, {}});
  BOOST_REQUIRE_MESSAGE(report, report.error().text);
  return std::move(*report);
}

std::string line_with(const std::string& text, const std::string& words) {
  const auto at = text.find(words);
  if (at == text.npos) return "";
  const auto begin = text.rfind('\n', at) + 1;
  return text.substr(begin, text.find('\n', at) - begin);
}

BOOST_AUTO_TEST_SUITE(tested_details_test)

BOOST_AUTO_TEST_CASE(untested_rows_come_last) {
  BOOST_TEST(groups_of(details_report()) == (std::vector<std::string>{"more", "varies", "tiny"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(untested_rows_are_grey_and_marked) {
  const Report report = details_report();
  const std::vector<std::string> files{"a", "b"};
  const TextLayout colored{200, true, false};
  const std::string text =
      format_report_text(report, files, get_default_columns(ReportKind::Compare), colored);
  const std::string tiny = line_with(text, "tiny"), more = line_with(text, "more "),
                    varying = line_with(text, "varies");
  BOOST_TEST(tiny.find('~') != std::string::npos, tiny);
  BOOST_TEST(varying.find('~') != std::string::npos, varying);
  BOOST_TEST(more.find('~') == std::string::npos, more);
  constexpr const char* kFaint = "\x1b[90m";
  BOOST_TEST(varying.find(kFaint) != std::string::npos, varying);
  BOOST_TEST(tiny.find(kFaint) != std::string::npos, tiny);
  BOOST_TEST(tiny.find("\x1b[1") == std::string::npos, tiny);
  BOOST_TEST(more.find(kFaint) == std::string::npos, more);
}

BOOST_AUTO_TEST_CASE(the_page_orders_and_marks_rows_equally) {
  const Report report = details_report();
  const PageRows rows = make_page_rows(report, true);
  std::vector<std::string> groups;
  for (const PageRow& row : rows.rows)
    if (row.metric == "run_time_ns") groups.push_back(row.group);
  BOOST_TEST(groups == (std::vector<std::string>{"more", "varies", "tiny"}),
             boost::test_tools::per_element());
  const std::vector<std::string> files{"a", "b"};
  const std::string page = make_report_page(report, files, {"", true});
  const std::string tiny = line_with(page, "scope=\"row\">tiny<");
  BOOST_TEST(tiny.find("class=\"row not\"") != std::string::npos, tiny);
  BOOST_TEST(tiny.find("~") != std::string::npos, tiny);
}

// Without several runs per side, nothing is tested and no row is marked.
BOOST_AUTO_TEST_CASE(rows_of_single_runs_are_not_marked) {
  const auto runs = runs_of({{{"web", 10, 5}}, {{"web", 90, 5}}});
  const Report report = report_of(runs, {{1, 1}});
  const std::vector<std::string> files{"a", "b"};
  const std::string text = format_report_text(
      report, files, get_default_columns(ReportKind::Compare), {200, true, false});
  BOOST_TEST(line_with(text, "web").find('~') == std::string::npos, text);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::tested_details_test
