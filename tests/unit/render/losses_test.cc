// Tests the data that a run lacks: which losses are found, and that text, JSON and pages report the
// same ones.

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "core/compare/figures/run_losses.hpp"
#include "core/page/page_facts.hpp"
#include "core/render/loss_text.hpp"
#include "core/render/window_text.hpp"
#include "tests/unit/render/window_report.hpp"

namespace ctprof::losses_test {
namespace {

using namespace window_report;

std::vector<LossKind> kinds_of(const std::vector<Loss>& losses) {
  std::vector<LossKind> kinds;
  for (const Loss& loss : losses) kinds.push_back(loss.kind);
  return kinds;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

// A window with one thread that was not read at its opening, and a metric that was read only later.
Snapshot make_lossy_window() {
  WindowEnds ends;
  add_u64(ends.after, kCostly, {1, 2, 3});
  Snapshot window = ends.window();
  window.window->reports_exits = true;
  window.window->exited_lost = 3;
  window.window->exited_unknown = 2;
  window.window->exited_merged = 4;
  window.meta.rows_absent = 5;
  return window;
}

BOOST_AUTO_TEST_SUITE(losses_test)

BOOST_AUTO_TEST_CASE(finds_each_kind_of_loss) {
  const std::vector<Loss> losses = find_losses(collect_run_facts(make_lossy_window()));
  const std::vector<LossKind> expected{LossKind::DroppedExits,        LossKind::UnseenExits,
                                       LossKind::MergedExits,         LossKind::ThreadsNotInOpening,
                                       LossKind::MetricsNotInOpening, LossKind::UnreadRows};
  BOOST_REQUIRE((kinds_of(losses) == expected));
  BOOST_TEST(describe_loss(losses[0]) ==
             "3 exited threads whose last values a full buffer dropped");
  BOOST_TEST(describe_loss(losses[1]) == "2 exited threads without any data");
  BOOST_TEST(describe_loss(losses[2]) == "4 exited threads merged into the row of another thread");
  BOOST_TEST(describe_loss(losses[5]) == "5 rows exited before they could be read");
}

// Denied exits and denied times are one loss.
BOOST_AUTO_TEST_CASE(denials_include_their_effects) {
  RunFacts run;
  run.window.emplace();
  run.window->unseen = 7;
  run.window->rows.in_progress = 10;
  BOOST_TEST((kinds_of(find_losses(run)) ==
              std::vector{LossKind::ExitsNotRecorded, LossKind::TimesInProgress}));
  BOOST_TEST(describe_loss(find_losses(run)[0]) ==
             "exited threads are not recorded; 7 threads exited");
  run.window->denied_metrics = 2;
  BOOST_TEST(
      (kinds_of(find_losses(run)) == std::vector{LossKind::ExitsNotRecorded, LossKind::Denied}));
  run.window->records_exits = true;
  BOOST_TEST((kinds_of(find_losses(run)) ==
              std::vector{LossKind::UnseenExits, LossKind::TimesInProgress}));
}

BOOST_AUTO_TEST_CASE(merged_threads_are_not_missing) {
  const auto losses = find_exit_losses({1, 1, 1, true});
  BOOST_TEST(std::ranges::count_if(losses, is_data_missing) == 2);
}

BOOST_AUTO_TEST_CASE(json_has_the_numbers_of_each_loss) {
  const std::vector<Loss> losses{{LossKind::Denied, 3, 5}, {LossKind::MetricsNotInOpening, 0, 7}};
  std::string text;
  JsonBuilder json(text);
  json.open('{');
  write_losses(json, losses);
  json.close('}');
  const auto members = boost::json::parse(text).at("losses").as_array();
  BOOST_REQUIRE_EQUAL(members.size(), losses.size());
  for (std::size_t i = 0; i < losses.size(); ++i) {
    BOOST_TEST(members[i].at("count").to_number<std::uint64_t>() == losses[i].threads);
    BOOST_TEST(members[i].at("metrics").to_number<std::uint64_t>() == losses[i].metrics);
  }
}

BOOST_AUTO_TEST_CASE(text_json_and_page_report_the_same_losses) {
  const Snapshot window = make_lossy_window();
  const Report report = report_of(window);
  const RunFacts& run = report.sides()[0];
  const std::vector<Loss> losses = find_losses(run);
  std::string json_text, page;
  JsonBuilder json(json_text);
  json.open('{');
  write_losses(json, losses);
  json.close('}');
  append_lost_data(page, report);
  const auto members = boost::json::parse(json_text).at("losses").as_array();
  BOOST_REQUIRE(members.size() == losses.size());
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const std::string text = describe_loss(losses[i]);
    BOOST_TEST(members[i].at("text").as_string() == text);
    BOOST_TEST(contains(page, "input: " + text), text);
  }
  BOOST_TEST(members[0].at("kind").as_string() == "dropped_exits");
  BOOST_TEST(members[0].at("count").to_number<int>() == 3);
  // The line of thread counts contains the other losses.
  const std::vector<std::string> remarks{describe_loss(losses[3]), describe_loss(losses[4])};
  BOOST_TEST(list_window_remarks(run) == remarks);
  BOOST_TEST(contains(format_window_line(run, "a"), "3 lost, 2 unseen, 4 merged"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::losses_test
