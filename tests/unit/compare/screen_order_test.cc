// Tests sorting the first screen by its columns, which uses the printed values.

#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/compare/report/screen_order.hpp"
#include "tests/unit/support/screen_windows.hpp"

namespace ctprof::screen_order_test {
namespace {

using namespace screen_windows;

std::string sorted_names(const std::vector<const Snapshot*>& sides, const char* by) {
  Spec spec;
  const auto keys = parse_sort(by, sides.size() == 1 ? ReportKind::Show : ReportKind::Compare);
  BOOST_REQUIRE_MESSAGE(keys, keys.error().text);
  spec.sort = *keys;
  const Report report = report_of(sides, spec);
  BOOST_TEST(sort_keys_are_columns(report.spec(), *report.screen()));
  return row_names(report);
}

BOOST_AUTO_TEST_SUITE(screen_order_test)

BOOST_AUTO_TEST_CASE(sorts_rows_by_the_printed_values) {
  const std::vector<ThreadActivity> all{{.name = "a", .cpu = 3 * kSecond, .switches = 20'000},
                                        {.name = "b", .cpu = 9 * kSecond, .switches = 10'000},
                                        {.name = "b", .cpu = kSecond, .switches = 5'000},
                                        {.name = "c", .cpu = kSecond, .switches = 90'000}};
  const Snapshot window = window_of(all),
                 idle = window_of({{.name = "a"}, {.name = "c", .cpu = 2 * kSecond}});
  for (const auto& [by, right] : {std::pair("sw/s", "c a b"),
                                  {"-sw/s", "b a c"},
                                  {"sw/s:asc", "b a c"},
                                  {"process", "a b c"},
                                  {"-process", "c b a"},
                                  {"threads,process", "b a c"},
                                  {"threads,-process", "b c a"},
                                  {"%cpu", "b a c"}})
    BOOST_TEST(sorted_names({&window}, by) == right, by);
  BOOST_TEST(sorted_names({&idle, &window}, "%cpu") == "b a c");  // by their changes
  BOOST_TEST(sorted_names({&idle, &window}, "-%cpu") == "c a b");
  BOOST_TEST(sorted_names({&idle, &window}, "-moved most") == "c a b");
}

BOOST_AUTO_TEST_CASE(metric_names_sort_the_tables) {
  const Snapshot window = window_of({{.name = "a", .cpu = kSecond}});
  Spec spec;
  spec.sort = *parse_sort("cpu", ReportKind::Show);
  const Report report = report_of(window, spec);
  BOOST_TEST(!sort_keys_are_columns(report.spec(), *report.screen()));
  const Snapshot* side = &window;
  Spec unknown;
  unknown.sort = *parse_sort("%cpi", ReportKind::Show);
  const auto refused = Report::make({&side, 1}, unknown, {&kRuleSet, {}});
  BOOST_REQUIRE(!refused);
  BOOST_TEST(refused.error().text.find("'%cpi'") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::screen_order_test
