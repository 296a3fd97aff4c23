// Tests groups selected by --about, the order of rows if none is significant, the values printed
// next to a shift, and the families of rows in JSON.

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "core/compare/report/noise.hpp"
#include "core/compare/request/expressions.hpp"
#include "core/render/columns.hpp"
#include "core/render/noise_text.hpp"
#include "core/render/report_text.hpp"
#include "tests/unit/support/several_runs.hpp"

namespace ctprof::about_test {
namespace {

using namespace several_runs;

BOOST_AUTO_TEST_SUITE(about_test)

BOOST_AUTO_TEST_CASE(text_counts_rows_that_only_min_shift_hides) {
  const TwoSides sides(kBefore, kAfter);
  Spec spec;
  spec.significance = {0.05, 0.192};
  const std::string text = screen_of(sides.report(spec), 1000);
  BOOST_TEST(
      text.find("1 row with p of at most 0.05 is not significant only because of --min-shift "
                "19.2%") != text.npos,
      text);
  BOOST_TEST(screen_of(sides.report(), 1000).find("--min-shift") == std::string::npos);
}

// The values next to a shift are geometric means, so that the shift leads from one to the other.
BOOST_AUTO_TEST_CASE(a_shift_matches_the_values_beside_it) {
  const TwoSides sides({100, 100, 300, 900}, {400, 100, 100, 1000});  // medians 200 and 250
  const Report report = sides.report();
  const RowTestResult result = *cpu_of(report, "app").test_result;
  double before = 0, after = 0;
  for (const double ms : {100, 100, 300, 900}) before += std::log(ms * 1e6 + 1e7) / 4;
  for (const double ms : {400, 100, 100, 1000}) after += std::log(ms * 1e6 + 1e7) / 4;
  BOOST_TEST(result.baseline_mean == std::exp(before) - 1e7, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(result.candidate_mean == std::exp(after) - 1e7, boost::test_tools::tolerance(1e-9));
  const RowTestResult proof_without_floor = remove_floor(result);
  BOOST_TEST(proof_without_floor.shift == result.candidate_mean / result.baseline_mean - 1,
             boost::test_tools::tolerance(1e-9));
  BOOST_TEST((proof_without_floor.low <= proof_without_floor.shift &&
              proof_without_floor.shift <= proof_without_floor.high));
  const std::string text = screen_of(report, 160);
  BOOST_TEST(text.find("%cpu 23.2~25.6 +11% (-92 to +853)") != text.npos, text);
  RowTestResult none = result;
  none.baseline_mean = 0;
  BOOST_TEST(std::isnan(remove_floor(none).shift));
}

BOOST_AUTO_TEST_CASE(orders_rows_by_their_own_p_if_none_is_significant) {
  const TwoSides sides(kBefore, kSame);
  const Report report = sides.report();
  const auto& rows = report.screen()->rows;
  BOOST_REQUIRE(rows.size() > 2u);
  for (std::size_t at = 0; at < rows.size(); ++at) {
    double least = 1;
    for (std::size_t column = 0; column < report.screen()->columns.size(); ++column)
      least = std::min(least, min_unadjusted_p(report.screen()->figures(rows[at], column)));
    BOOST_TEST(rows[at].unadjusted_p == least);
    if (at > 0) BOOST_TEST(rows[at - 1].unadjusted_p <= rows[at].unadjusted_p);
  }
  BOOST_TEST(rows.front().unadjusted_p < rows.back().unadjusted_p);
  const std::string text = screen_of(report, 1000);
  BOOST_TEST(text.find("record new runs, then use --about") != text.npos, text);
  const json::value document = json_of(report);
  double before = 0;
  for (const json::value& row : document.at("rows").as_array()) {
    if (row.at("p").is_null() || row.at("metric") != "cpu") continue;
    for (const json::value& detail : document.at("evidence").at(0).at("details").as_array())
      if (detail.at("group") == row.at("group") && detail.at("metric") == row.at("metric")) {
        BOOST_TEST(before <= detail.at("p_alone").to_number<double>());
        before = detail.at("p_alone").to_number<double>();
      }
  }
  BOOST_TEST(before > 0);
  // If a row is significant, the other rows are ordered by their share of the machine.
  const Report proven = TwoSides(kBefore, kAfter).report();
  for (const ScreenRow& row : proven.screen()->rows) BOOST_TEST(row.unadjusted_p == 1);
}

// The groups of --about are adjusted as a separate family and printed first. Other rows do not
// change.
BOOST_AUTO_TEST_CASE(about_tests_its_groups_as_a_separate_family) {
  TwoSides sides(kBefore, kAfter);
  Spec spec;
  spec.about = *parse_about(" other ", "pcomm");
  std::string key, same;
  spec.record_comparison = [&](std::string_view runs) { return key = runs, true; };
  const Report report = sides.report(spec);
  const auto& names = report.grouping().names;
  const Evidence &about = *report.families().get_about_evidence(),
                 &all = *report.families().headlines();
  BOOST_TEST(about.rows(1).size() == 2u);
  BOOST_TEST(about.rows(1).size() < all.rows(1).size());
  for (const auto& [group, metric] : about.rows(1)) {
    BOOST_TEST(names[group] == "other");
    BOOST_TEST(about.find_result(group, metric, 1)->p <= all.find_result(group, metric, 1)->p);
    BOOST_TEST(about.find_result(group, metric, 1)->unadjusted_p ==
               all.find_result(group, metric, 1)->unadjusted_p);
  }
  BOOST_REQUIRE(report.screen()->about_rows.size() == 1u);
  BOOST_TEST(names[report.screen()->about_rows[0].group] == "other");
  BOOST_TEST(report.screen()->rows.size() == sides.report().screen()->rows.size());
  const std::string text = screen_of(report, 1000);
  const auto first = text.find("--about group == \"other\": 0 of 2 rows are significant");
  BOOST_TEST(first < text.find("all groups:"), text);
  BOOST_TEST(
      text.find("p is adjusted for " + std::to_string(all.rows(1).size()) + " rows") != text.npos,
      text);
  BOOST_TEST(text.find("compared before without this --about") != text.npos, text);
  const json::value document = json_of(report);
  const json::object& family = document.at("evidence").at(0).at("about").as_object();
  BOOST_TEST(family.at("headlines").as_array().size() == 2u);
  BOOST_TEST(family.at("chosen_afterwards").as_bool());
  BOOST_TEST(document.at("screen").at("about_rows").as_array().size() == 1u);
  BOOST_TEST(json_of(sides.report()).at("evidence").at(0).at("about").is_null());
  // Exchanged sides give the same key. If the callback returns false, the selection is not marked.
  std::rotate(sides.runs.begin(), sides.runs.begin() + 4, sides.runs.end());
  spec.record_comparison = [&](std::string_view runs) { return same = runs, false; };
  BOOST_TEST(!sides.report(spec).may_about_follow_comparison());
  BOOST_TEST((key == same && !key.empty()));
}

// The tables of --details contain other metrics than the headlines that --about tests.
BOOST_AUTO_TEST_CASE(about_groups_precede_the_tables_of_details) {
  Spec spec;
  spec.about = *parse_about("other", "pcomm");
  const std::string files[] = {"a", "b"};
  const std::string text =
      format_report_text(TwoSides(kBefore, kAfter).report(spec), files,
                         get_default_columns(ReportKind::Compare), {.width = 1000});
  const auto about = text.find("--about group == \"other\": 0 of 2 rows are significant");
  BOOST_TEST((about < text.find("\n## ")), text);
}

// Snapshots have no headlines that could be tested.
BOOST_AUTO_TEST_CASE(a_note_reports_that_about_is_ignored) {
  Spec spec;
  spec.about = *parse_about("a", "pcomm");
  const Snapshot one = hand_made::snapshot_of({{1, 1, "a", "a"}});
  const Report report = report_of({&one, &one}, spec);
  BOOST_REQUIRE_EQUAL(report.notes().size(), 1u);
  BOOST_TEST(report.notes()[0] ==
             "--about is ignored: it tests headlines of windows, and these files have none");
}

std::string noise_text_about(const std::string& about) {
  TwoSides sides(kBefore, kAfter);
  sides.sizes = {8};
  Spec spec;
  spec.about = *parse_about(about, "pcomm");
  const Report report = sides.report(spec);
  return format_noise_text(report, *compute_noise(report, 0), "runs", {.width = 1000}, 0);
}

BOOST_AUTO_TEST_CASE(noise_reports_that_no_group_matches_about) {
  const std::string text = noise_text_about("nobody"), floor = "no group is above the floor";
  BOOST_TEST(text.find("no group matches --about group == \"nobody\"\n") != text.npos, text);
  BOOST_TEST(text.find(floor) == text.npos, text);
  BOOST_TEST(noise_text_about("quiet").find(floor) != text.npos, noise_text_about("quiet"));
  BOOST_TEST(noise_text_about("app").find("no group") == text.npos);
}

// Returns the --about rows on the screen for two windows with many groups.
std::string rows_about(std::optional<std::size_t> rows, std::size_t lines) {
  std::vector<ThreadActivity> all;
  for (char name = 'a'; name <= 'z'; ++name)
    all.push_back({.name = std::string(3, name), .cpu = kSecond});
  const Snapshot window = window_of(all);
  Spec spec;
  spec.about = *parse_about("group =~ \".\"", "pcomm");
  const std::string files[] = {"a", "b"};
  const std::string text = format_screen(report_of({&window, &window}, spec), files,
                                         {{1000, false, false}, lines, rows});
  return text.substr(0, text.find("all groups:"));
}

BOOST_AUTO_TEST_CASE(limits_the_rows_of_about) {
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != text.npos;
  };
  const std::string two = rows_about(2, 24);
  BOOST_TEST((has(two, "\nbbb") && !has(two, "\nccc") && has(two, "24 more rows (--limit 0)\n")),
             two);
  const std::string fitting = rows_about(std::nullopt, 24);
  BOOST_TEST((has(fitting, "\nhhh") && !has(fitting, "\niii")), fitting);
  BOOST_TEST(has(fitting, "18 more rows (--limit 0)\n"), fitting);
  const std::string all = rows_about(0, 24);
  BOOST_TEST((has(all, "\nzzz") && !has(all, "more row")), all);
}

BOOST_AUTO_TEST_CASE(json_has_as_many_rows_of_about_as_the_screen) {
  Spec spec;
  spec.about = *parse_about("group =~ \".\"", "pcomm");
  const std::size_t all = json_of(TwoSides(kBefore, kAfter).report(spec))
                              .at("screen")
                              .at("about_rows")
                              .as_array()
                              .size();
  BOOST_REQUIRE(all > 1u);
  spec.limit = 1;
  const json::value screen = json_of(TwoSides(kBefore, kAfter).report(spec)).at("screen");
  BOOST_TEST(screen.at("about_rows").as_array().size() == 1u);
  BOOST_TEST(screen.at("left_out").at("about_rows").to_number<std::size_t>() == all - 1);
  spec.about.reset();
  BOOST_TEST(!json_of(TwoSides(kBefore, kAfter).report(spec))
                  .at("screen")
                  .at("left_out")
                  .as_object()
                  .contains("about_rows"));
}

BOOST_AUTO_TEST_CASE(about_accepts_only_conditions_on_group_names) {
  const auto matches = [](std::string_view about, std::string_view group) {
    return matches_about(*parse_about(about, "cgroup"), group);
  };
  BOOST_TEST((matches("a b\\c", "a b\\c") && !matches("a", "ab")));
  BOOST_TEST((matches("cgroup under \"/a\"", "/a/b") && matches("group =~ \"b$\"", "/a/b")));
  for (const char* wrong : {"pcomm == \"a\"", "threads > 3", "cgroup < 3", "", "cpu == \"a\""})
    BOOST_TEST(!parse_about(wrong, "cgroup").has_value(), wrong);
  BOOST_TEST(parse_about("nice < 0", "pcomm").error().text.find("use group or pcomm") !=
             std::string::npos);
}

// JSON contains each row for which p is adjusted, regardless of --limit, with the values of all
// runs.
BOOST_AUTO_TEST_CASE(json_has_every_row_of_each_family) {
  Spec spec;
  spec.limit = 1;
  const json::value document = json_of(TwoSides(kBefore, kAfter).report(spec));
  const json::object& family = document.at("evidence").at(0).as_object();
  const json::array &headlines = family.at("headlines").as_array(),
                    &details = family.at("details").as_array();
  BOOST_TEST(headlines.size() == family.at("headline_rows").to_number<std::size_t>());
  BOOST_TEST(details.size() == family.at("detail_rows").to_number<std::size_t>());
  BOOST_TEST(headlines.size() > document.at("screen").at("rows").as_array().size());
  BOOST_TEST(family.at("functions").as_array().empty());
  const auto app = std::ranges::find_if(headlines, [](const json::value& row) {
    return row.at("group") == "app" && row.at("metric") == "cpu";
  });
  BOOST_REQUIRE(app != headlines.end());
  BOOST_TEST(app->at("floor").to_number<double>() == 1e7);  // 1 % of a CPU, in ns per second
  BOOST_TEST(app->at("proven").as_bool());
  const json::array& figures = app->at("figures").as_array();
  BOOST_REQUIRE(figures.size() == 8u);
  for (std::size_t run = 0; run < 8; ++run)
    BOOST_TEST(figures[run].to_number<double>() ==
                   1e6 * static_cast<double>(run < 4 ? kBefore[run] : kAfter[run - 4]),
               boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::about_test
