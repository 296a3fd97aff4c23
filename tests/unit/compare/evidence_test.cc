// Tests the significance of differences between sides with several runs: which rows are tested, how
// results print, and in which order. The p values themselves are tested in tests/statistics.

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/compare/request/expressions.hpp"
#include "core/render/report_csv.hpp"
#include "core/render/report_json.hpp"
#include "core/render/report_text.hpp"
#include "core/render/screen_text.hpp"
#include "tests/unit/support/several_runs.hpp"

namespace ctprof::evidence_test {
namespace {

using namespace several_runs;

BOOST_AUTO_TEST_SUITE(evidence_test)

BOOST_AUTO_TEST_CASE(a_significant_row_comes_first_with_its_p_and_interval) {
  const TwoSides sides(kBefore, kAfter);
  const Report report = sides.report();
  BOOST_TEST(report.grouping().names[report.screen()->rows[0].group] == "app");
  BOOST_TEST(report.screen()->rows[0].is_significant);
  BOOST_TEST(!find_row(report, "steady").is_significant);
  const RowTestResult result = *cpu_of(report, "app").test_result;
  BOOST_TEST(result.p == 2.0 / 70, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(result.is_significant);
  // The floor, 1 % of a CPU, is added to 30 % and 36 %.
  double logs = 0;
  for (std::size_t i = 0; i < 4; ++i)
    logs += std::log((kAfter[i] / 10. + 1) / (kBefore[i] / 10. + 1)) / 4;
  BOOST_TEST(result.shift == std::expm1(logs), boost::test_tools::tolerance(1e-9));
  BOOST_TEST((result.low > 0.15 && result.low < result.shift && result.shift < result.high));
  BOOST_TEST(!cpu_of(report, "steady").test_result->is_significant);
}

BOOST_AUTO_TEST_CASE(unchanged_groups_are_not_significant) {
  const TwoSides sides(kBefore, kSame);
  const Report report = sides.report();
  for (const ScreenRow& row : report.screen()->rows) BOOST_TEST(!row.is_significant);
  BOOST_TEST(cpu_of(report, "app").test_result->p > 0.05);
}

BOOST_AUTO_TEST_CASE(text_marks_insignificant_rows_and_names_the_test) {
  const TwoSides changed(kBefore, kAfter);
  const std::string text = screen_of(changed.report(), 160);
  BOOST_TEST(text.find("%cpu 30.0→36.1 +20% (+18 to +23)") != text.npos, text);
  BOOST_TEST(
      text.find("~: not significant with 4 + 4 runs at 0.05 (all 70 labellings") != text.npos,
      text);
  BOOST_TEST(text.find("one side after the other") != text.npos, text);
  const std::string unchanged = screen_of(TwoSides(kBefore, kSame, true).report(), 160);
  BOOST_TEST(unchanged.find("30.1~30.1") == unchanged.npos);
  BOOST_TEST(unchanged.find("one side after the other") == unchanged.npos, unchanged);
  const std::string too_few_runs =
      screen_of(TwoSides({300, 301, 302}, {360, 361, 362}).report(), 160);
  BOOST_TEST(
      too_few_runs.find("3 + 3 runs are too few for a significant difference at 0.05; 4 runs per "
                        "side are enough") != too_few_runs.npos,
      too_few_runs);
}

BOOST_AUTO_TEST_CASE(uses_the_requested_alpha_and_minimum_shift) {
  const TwoSides sides(kBefore, kAfter);
  const auto is_significant = [&](SignificanceThreshold bar) {
    Spec spec;
    spec.significance = bar;
    return cpu_of(sides.report(spec), "app").test_result->is_significant;
  };
  BOOST_TEST(is_significant({0.03, 0}));
  BOOST_TEST(!is_significant({0.02, 0}));
  BOOST_TEST(is_significant({0.05, 0.1}));
  // The shift exceeds the minimum, its interval does not.
  BOOST_TEST(!is_significant({0.05, 0.192}));
}

BOOST_AUTO_TEST_CASE(single_windows_are_not_tested) {
  const TwoSides sides({300}, {360});
  const Report report = sides.report();
  BOOST_TEST(!cpu_of(report, "app").test_result);
  BOOST_TEST(!report.families().can_test());
  const std::string text = screen_of(report);
  BOOST_TEST(text.find('~') == text.npos, text);
  BOOST_TEST(
      text.find("one run per side cannot show which differences are significant") != text.npos,
      text);
  BOOST_TEST(!TwoSides(kBefore, {360}).report().families().can_test());
  BOOST_TEST(json_of(report).at("evidence").as_array().empty());
}

BOOST_AUTO_TEST_CASE(does_not_test_quiet_groups_and_threads_of_ctprof) {
  TwoSides sides(kBefore, kAfter);
  for (Snapshot& run : sides.runs) run.meta.own_threads = {2};  // "steady"
  const Report report = sides.report();
  const auto& names = report.grouping().names;
  for (std::uint32_t group = 0; group < names.size(); ++group) {
    const bool is_tested = report.families()
                               .headlines()
                               ->find_result(group, metric_index(report, "cpu"), 1)
                               .has_value();
    BOOST_TEST(is_tested == (names[group] == "app" || names[group] == "other"), names[group]);
  }
}

BOOST_AUTO_TEST_CASE(pairs_alternating_runs) {
  TwoSides sides({300, 350, 280, 400, 330, 310}, {309, 361, 288, 413, 340, 319}, true);
  BOOST_TEST(!cpu_of(sides.report(), "app").test_result->is_significant);
  for (std::size_t i = 0; i < 12; ++i) sides.runs[i].meta.pair = InterleavedPair{7, i % 6 + 1};
  std::swap(sides.runs[6], sides.runs[11]);
  const Report report = sides.report();
  BOOST_TEST(report.families().design(1)->design.is_paired);
  const RowTestResult result = *cpu_of(report, "app").test_result;
  BOOST_TEST(result.p == 2.0 / 64, boost::test_tools::tolerance(1e-12));
  const std::string text = screen_of(report, 160);
  BOOST_TEST(text.find("6 pairs of runs at 0.05 (all 64 labellings") != text.npos, text);
  // A run without a partner is not used.
  sides.runs[0].meta.pair->number = 9;
  BOOST_TEST(sides.report().families().design(1)->design.is_paired);
  BOOST_TEST(sides.report().families().design(1)->design.baseline == 5);
  // Pairs of different recordings are not paired with each other.
  sides.runs[0].meta.pair->seed = 8;
  BOOST_TEST(!sides.report().families().design(1)->design.is_paired);
}

// A group that is absent from a run counts as zero; a metric that a run did not measure is missing.
BOOST_AUTO_TEST_CASE(absent_groups_are_zero_and_gaps_stay_missing) {
  std::vector<Snapshot> runs;
  for (std::size_t i = 0; i < 8; ++i) {
    std::vector<ThreadActivity> did{{.name = "steady", .cpu = (5000 + i) * kMs}};
    if (i >= 4) did.push_back({.name = "fresh", .cpu = (900 + 10 * i) * kMs});
    runs.push_back(window_of(did));
  }
  std::erase_if(runs[1].threads().columns,
                [](const Column& column) { return column.def().name == "cpu"; });
  std::vector<const Snapshot*> all;
  for (const Snapshot& run : runs) all.push_back(&run);
  Spec spec;
  spec.side_sizes = {4, 4};
  const Report report = report_of(all, spec);
  const std::uint32_t fresh = find_row(report, "fresh").group;
  const Rollup& rollup = report.rollup();
  const std::size_t cpu = metric_index(report, "cpu");
  BOOST_TEST(rollup.number_of_run(0, fresh, cpu) == 0);
  BOOST_TEST(std::isnan(rollup.number_of_run(1, fresh, cpu)));
  BOOST_TEST(rollup.number_of_run(4, fresh, cpu) > 0);
  const RowTestResult result = *cpu_of(report, "fresh").test_result;
  BOOST_TEST(result.is_significant);
  BOOST_TEST(result.shift > 5);
}

BOOST_AUTO_TEST_CASE(details_are_a_separate_family) {
  const TwoSides sides(kBefore, kAfter);
  const Report report = sides.report();
  const json::value document = json_of(report);
  const json::object& family = document.at("evidence").at(0).as_object();
  BOOST_TEST(family.at("paired").as_bool() == false);
  BOOST_TEST(family.at("labellings").to_number<int>() == 70);
  BOOST_TEST(family.at("smallest_p").to_number<double>() == 2.0 / 70,
             boost::test_tools::tolerance(1e-12));
  BOOST_TEST(family.at("enough_runs").to_number<int>() == 4);
  BOOST_TEST(family.at("one_after_other").as_bool());
  BOOST_TEST(family.at("detail_rows").to_number<int>() > 0);
  bool seen = false;
  for (const json::value& row : document.at("rows").as_array()) {
    if (row.at("group") != "app" || row.at("metric") != "cpu") continue;
    seen = true;
    BOOST_TEST(row.at("proven").as_bool());
    BOOST_TEST(row.at("p").to_number<double>() == 2.0 / 70, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(row.at("low").to_number<double>() < row.at("shift").to_number<double>());
    BOOST_TEST(row.at("runs_baseline").to_number<int>() == 4);
  }
  BOOST_TEST(seen);
  const std::vector<std::string> files{"a", "b"};
  const std::string text = format_report_text(
      report, files, get_default_columns(ReportKind::Compare), {0, false, false});
  BOOST_TEST(text.find("shift") != text.npos, text);
  BOOST_TEST(text.find("0.029") != text.npos, text);
  BOOST_TEST(text.find("~ ") != text.npos, text);
  TextSink csv;
  BOOST_REQUIRE(write_report_csv(report, csv));
  BOOST_TEST(csv.text.find(",shift,low,high,p,proven\n") != std::string::npos, csv.text);
  BOOST_TEST(csv.text.find(",true\n") != std::string::npos, csv.text);
}

Result<Report> report_with_condition(const TwoSides& sides, const std::string& condition) {
  Spec spec;
  spec.side_sizes = sides.sizes;
  spec.fail_on.push_back(*parse_fail_on(condition));
  std::vector<const Snapshot*> all;
  for (const Snapshot& run : sides.runs) all.push_back(&run);
  return Report::make(all, spec, {&kRuleSet, {}});
}

BOOST_AUTO_TEST_CASE(conditions_can_use_p_and_interval) {
  const TwoSides sides(kBefore, kAfter);
  const auto count = [&](const std::string& condition) {
    const auto report = report_with_condition(sides, condition);
    BOOST_REQUIRE_MESSAGE(report, report.error().text);
    return report->fail_on_section().rows.size();
  };
  BOOST_TEST(count("cpu.p < 0.05") == 1);
  BOOST_TEST(count("cpu.p < 0.02") == 0);
  BOOST_TEST(count("cpu.low > 5") == 1);
  BOOST_TEST(count("cpu.low > 30") == 0);
  BOOST_TEST(count("cpu.shift > 15 && cpu.shift < 25 && cpu.p < 0.05") == 1);
  BOOST_TEST(count("cpu.high > 15 && group == \"app\"") == 1);
  const auto refused = report_with_condition(TwoSides({300}, {360}), "cpu.p < 0.05");
  BOOST_REQUIRE(!refused);
  BOOST_TEST(refused.error().text.find("needs several runs on both sides") != std::string::npos);
}

// With more sides, each is tested against the first.
BOOST_AUTO_TEST_CASE(tests_each_side_separately) {
  TwoSides sides(kBefore, kAfter);
  for (std::size_t i = 0; i < 4; ++i) sides.runs.push_back(make_run(kSame[i], i + 6, 3000 + i));
  sides.sizes.push_back(4);
  const Report report = sides.report();
  const auto figures = report.screen()->figures(find_row(report, "app"), 0);
  BOOST_TEST(figures[1].test_result->is_significant);
  BOOST_TEST(!figures[2].test_result->is_significant);
  const std::vector<std::string> files{"a", "b", "c"};
  const std::string text = format_screen(report, files, {{200, false, false}, 24, {}});
  BOOST_TEST(text.find("30.1→36.1~30.1") != text.npos, text);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::evidence_test
