// Tests the significance of differences between sides of several runs: which rows are tested, how
// results print, and in which order. The p values themselves are tested in tests/statistics.

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/compare/asked/expressions.hpp"
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
  const Sides sides(kBefore, kAfter);
  const Report report = sides.report();
  BOOST_TEST(report.grouping().names[report.screen()->rows[0].group] == "app");
  BOOST_TEST(report.screen()->rows[0].is_proven);
  BOOST_TEST(!row(report, "steady").is_proven);
  const Proof proof = *cpu_of(report, "app").proof;
  BOOST_TEST(proof.p == 2.0 / 70, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(proof.proven);
  // The floor, 1 % of a CPU, is added to 30 % and 36 %.
  double logs = 0;
  for (std::size_t i = 0; i < 4; ++i)
    logs += std::log((kAfter[i] / 10. + 1) / (kBefore[i] / 10. + 1)) / 4;
  BOOST_TEST(proof.shift == std::expm1(logs), boost::test_tools::tolerance(1e-9));
  BOOST_TEST((proof.low > 0.15 && proof.low < proof.shift && proof.shift < proof.high));
  BOOST_TEST(!cpu_of(report, "steady").proof->proven);
}

BOOST_AUTO_TEST_CASE(unchanged_groups_are_not_significant) {
  const Sides sides(kBefore, kSame);
  const Report report = sides.report();
  for (const ScreenRow& row : report.screen()->rows) BOOST_TEST(!row.is_proven);
  BOOST_TEST(cpu_of(report, "app").proof->p > 0.05);
}

BOOST_AUTO_TEST_CASE(text_marks_insignificant_rows_and_names_the_test) {
  const Sides moved(kBefore, kAfter);
  const std::string text = screen_of(moved.report(), 160);
  BOOST_TEST(text.find("%cpu 30.0→36.1 +20% (+18 to +23)") != text.npos, text);
  BOOST_TEST(
      text.find("~: not significant with 4 + 4 runs at 0.05 (all 70 labellings") != text.npos,
      text);
  BOOST_TEST(text.find("one side after the other") != text.npos, text);
  const std::string still = screen_of(Sides(kBefore, kSame, true).report(), 160);
  BOOST_TEST(still.find("30.1~30.1") == still.npos);
  BOOST_TEST(still.find("one side after the other") == still.npos, still);
  const std::string few = screen_of(Sides({300, 301, 302}, {360, 361, 362}).report(), 160);
  BOOST_TEST(few.find("3 + 3 runs are too few for a significant difference at 0.05; 4 runs per "
                      "side are enough") != few.npos,
             few);
}

BOOST_AUTO_TEST_CASE(uses_the_requested_alpha_and_minimum_shift) {
  const Sides sides(kBefore, kAfter);
  const auto is_proven = [&](Bar bar) {
    Spec spec;
    spec.bar = bar;
    return cpu_of(sides.report(spec), "app").proof->proven;
  };
  BOOST_TEST(is_proven({0.03, 0}));
  BOOST_TEST(!is_proven({0.02, 0}));
  BOOST_TEST(is_proven({0.05, 0.1}));
  BOOST_TEST(!is_proven({0.05, 0.192}));  // the shift exceeds the minimum, its interval does not
}

BOOST_AUTO_TEST_CASE(single_windows_are_not_tested) {
  const Sides sides({300}, {360});
  const Report report = sides.report();
  BOOST_TEST(!cpu_of(report, "app").proof);
  BOOST_TEST(!report.families().judge());
  const std::string text = screen_of(report);
  BOOST_TEST(text.find('~') == text.npos, text);
  BOOST_TEST(
      text.find("one run per side cannot show which differences are significant") != text.npos,
      text);
  BOOST_TEST(!Sides(kBefore, {360}).report().families().judge());
  BOOST_TEST(json_of(report).at("evidence").as_array().empty());
}

BOOST_AUTO_TEST_CASE(does_not_test_quiet_groups_and_threads_of_ctprof) {
  Sides sides(kBefore, kAfter);
  for (Snapshot& run : sides.runs) run.meta.own_threads = {2};  // "steady"
  const Report report = sides.report();
  const auto& names = report.grouping().names;
  for (std::uint32_t group = 0; group < names.size(); ++group) {
    const bool is_judged =
        report.families().headlines()->of(group, metric_of(report, "cpu"), 1).has_value();
    BOOST_TEST(is_judged == (names[group] == "app" || names[group] == "other"), names[group]);
  }
}

BOOST_AUTO_TEST_CASE(pairs_alternating_runs) {
  Sides sides({300, 350, 280, 400, 330, 310}, {309, 361, 288, 413, 340, 319}, true);
  BOOST_TEST(!cpu_of(sides.report(), "app").proof->proven);
  for (std::size_t i = 0; i < 12; ++i) sides.runs[i].meta.pair = PairMark{7, i % 6 + 1};
  std::swap(sides.runs[6], sides.runs[11]);
  const Report report = sides.report();
  BOOST_TEST(report.families().design(1)->design.paired);
  const Proof proof = *cpu_of(report, "app").proof;
  BOOST_TEST(proof.p == 2.0 / 64, boost::test_tools::tolerance(1e-12));
  const std::string text = screen_of(report, 160);
  BOOST_TEST(text.find("6 pairs of runs at 0.05 (all 64 labellings") != text.npos, text);
  // A run without a partner is not used.
  sides.runs[0].meta.pair->number = 9;
  BOOST_TEST(sides.report().families().design(1)->design.paired);
  BOOST_TEST(sides.report().families().design(1)->design.baseline == 5);
  // Pairs of different recordings are not paired with each other.
  sides.runs[0].meta.pair->seed = 8;
  BOOST_TEST(!sides.report().families().design(1)->design.paired);
}

// A group that is absent from a run counts as zero; a metric that a run did not measure is missing.
BOOST_AUTO_TEST_CASE(absent_groups_are_zero_and_gaps_stay_missing) {
  std::vector<Snapshot> runs;
  for (std::size_t i = 0; i < 8; ++i) {
    std::vector<Did> did{{.name = "steady", .cpu = (5000 + i) * kMs}};
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
  const std::uint32_t fresh = row(report, "fresh").group;
  const Rollup& rollup = report.rollup();
  const std::size_t cpu = metric_of(report, "cpu");
  BOOST_TEST(rollup.figure_of_run(0, fresh, cpu) == 0);
  BOOST_TEST(std::isnan(rollup.figure_of_run(1, fresh, cpu)));
  BOOST_TEST(rollup.figure_of_run(4, fresh, cpu) > 0);
  const Proof proof = *cpu_of(report, "fresh").proof;
  BOOST_TEST(proof.proven);
  BOOST_TEST(proof.shift > 5);
}

BOOST_AUTO_TEST_CASE(details_are_a_separate_family) {
  const Sides sides(kBefore, kAfter);
  const Report report = sides.report();
  const json::value told = json_of(report);
  const json::object& how = told.at("evidence").at(0).as_object();
  BOOST_TEST(how.at("paired").as_bool() == false);
  BOOST_TEST(how.at("labellings").to_number<int>() == 70);
  BOOST_TEST(how.at("smallest_p").to_number<double>() == 2.0 / 70,
             boost::test_tools::tolerance(1e-12));
  BOOST_TEST(how.at("enough_runs").to_number<int>() == 4);
  BOOST_TEST(how.at("one_after_other").as_bool());
  BOOST_TEST(how.at("detail_rows").to_number<int>() > 0);
  bool seen = false;
  for (const json::value& row : told.at("rows").as_array()) {
    if (row.at("group") != "app" || row.at("metric") != "cpu") continue;
    seen = true;
    BOOST_TEST(row.at("proven").as_bool());
    BOOST_TEST(row.at("p").to_number<double>() == 2.0 / 70, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(row.at("low").to_number<double>() < row.at("shift").to_number<double>());
    BOOST_TEST(row.at("runs_baseline").to_number<int>() == 4);
  }
  BOOST_TEST(seen);
  const std::vector<std::string> files{"a", "b"};
  const std::string text =
      report_text(report, files, default_columns(ReportKind::Compare), {0, false, false});
  BOOST_TEST(text.find("shift") != text.npos, text);
  BOOST_TEST(text.find("0.029") != text.npos, text);
  BOOST_TEST(text.find("~ ") != text.npos, text);
  Told csv;
  BOOST_REQUIRE(write_report_csv(report, csv));
  BOOST_TEST(csv.text.find(",shift,low,high,p,proven\n") != std::string::npos, csv.text);
  BOOST_TEST(csv.text.find(",true\n") != std::string::npos, csv.text);
}

Result<Report> failing(const Sides& sides, const std::string& condition) {
  Spec spec;
  spec.side_sizes = sides.sizes;
  spec.fail_on.push_back(*parse_fail_on(condition));
  std::vector<const Snapshot*> all;
  for (const Snapshot& run : sides.runs) all.push_back(&run);
  return Report::make(all, spec, {&book, {}});
}

BOOST_AUTO_TEST_CASE(conditions_can_use_p_and_interval) {
  const Sides sides(kBefore, kAfter);
  const auto count = [&](const std::string& condition) {
    const auto report = failing(sides, condition);
    BOOST_REQUIRE_MESSAGE(report, report.error().text);
    return report->failed().rows.size();
  };
  BOOST_TEST(count("cpu.p < 0.05") == 1);
  BOOST_TEST(count("cpu.p < 0.02") == 0);
  BOOST_TEST(count("cpu.low > 5") == 1);
  BOOST_TEST(count("cpu.low > 30") == 0);
  BOOST_TEST(count("cpu.shift > 15 && cpu.shift < 25 && cpu.p < 0.05") == 1);
  BOOST_TEST(count("cpu.high > 15 && group == \"app\"") == 1);
  const auto refused = failing(Sides({300}, {360}), "cpu.p < 0.05");
  BOOST_REQUIRE(!refused);
  BOOST_TEST(refused.error().text.find("needs several runs on both sides") != std::string::npos);
}

// With more sides, each is tested against the first.
BOOST_AUTO_TEST_CASE(tests_each_side_separately) {
  Sides sides(kBefore, kAfter);
  for (std::size_t i = 0; i < 4; ++i) sides.runs.push_back(run_of(kSame[i], i + 6, 3000 + i));
  sides.sizes.push_back(4);
  const Report report = sides.report();
  const auto figures = report.screen()->figures(row(report, "app"), 0);
  BOOST_TEST(figures[1].proof->proven);
  BOOST_TEST(!figures[2].proof->proven);
  const std::vector<std::string> files{"a", "b", "c"};
  const std::string text = screen_text(report, files, {{200, false, false}, 24, {}});
  BOOST_TEST(text.find("30.1→36.1~30.1") != text.npos, text);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::evidence_test
