// The first screen as text: what fits, and what is said of the rest; and as JSON.

#define BOOST_TEST_MODULE screen_text
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "core/render/report_json.hpp"
#include "core/render/screen_text.hpp"
#include "tests/unit/made_screen.hpp"

namespace ctprof {
namespace {

using namespace hand_made;

std::string text_of(const Report& report, const ScreenLayout& layout) {
  const std::string files[] = {"a.zst", "b.zst"};
  return screen_text(report, files, layout);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

BOOST_AUTO_TEST_CASE(as_many_rows_as_fit_and_the_rest_counted) {
  std::vector<Did> all;
  for (int i = 0; i < 60; ++i)
    all.push_back(
        {.name = std::string(1, 'a' + i % 26) + std::string(i / 26 + 1, 'x'), .cpu = kSecond});
  const Snapshot window = window_of(all);
  const Report report = report_of(window, {.literal_names = true});
  const std::string text = text_of(report, {.text = {.width = 80}, .lines = 24});
  BOOST_TEST(std::count(text.begin(), text.end(), '\n') == 23);
  BOOST_TEST(has(text, "more rows"));
  const auto with = [&](std::size_t rows) {
    return text_of(report, {.text = {.width = 80}, .lines = 24, .rows = rows});
  };
  BOOST_TEST((has(with(2), "58 more rows (--limit 0)") && !has(with(0), "more row")));
}

BOOST_AUTO_TEST_CASE(columns_that_decide_are_the_last_to_go) {
  const Snapshot window = window_of({{.name = "quite-a-long-name", .cpu = 1, .switches = 9000},
                                     {.name = "b", .held_after = 3 << 20}});
  const Report report = report_of(window, {.literal_names = true});
  const std::string text = text_of(report, {.text = {.width = 56}, .lines = 24});
  for (const char* part : {"process", "threads", "%cpu", "sw/s", "held", "for width %idle"})
    BOOST_TEST(has(text, part), part << " in\n" << text);
  BOOST_TEST(!has(text_of(report, {.text = {.width = 120}, .lines = 24}), "for width"));
}

BOOST_AUTO_TEST_CASE(two_windows_tell_both_figures_and_what_moved_most) {
  const Snapshot before = window_of({{.name = "a", .cpu = kSecond}}),
                 after = window_of({{.name = "a", .cpu = 4 * kSecond, .held_after = 3 << 20}});
  const Report report = report_of({&before, &after});
  const std::string text = text_of(report, {.text = {.width = 100}, .lines = 24});
  for (const char* part :
       {"baseline: a.zst", "candidate: b.zst", "held 0→3.00Mi +3.00Mi", "10.0→40.0"})
    BOOST_TEST(has(text, part), part << " in\n" << text);
}

// --- JSON
// ----------------------------------------------------------------------------------------------

class Kept final : public Sink {
 public:
  Result<void> write(std::string_view more) override { return text += more, Result<void>{}; }
  std::string text;
};

BOOST_AUTO_TEST_CASE(json_has_all_of_it) {
  const Snapshot window = window_of(
      {{.name = "a", .cpu = kSecond, .held_after = 3 << 20}, {.name = "b", .cpu = 2 * kSecond}});
  const std::string files[] = {"a.zst"};
  Kept kept;
  BOOST_REQUIRE(write_report_json(report_of(window, {.limit = 1}), files, kept));
  const auto json = boost::json::parse(kept.text);
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

}  // namespace
}  // namespace ctprof
