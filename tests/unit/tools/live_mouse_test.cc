// Tests the mouse in `ctprof live`: headings, rows and the wheel.

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "core/render/terminal_text.hpp"
#include "tests/unit/support/live_view.hpp"

namespace ctprof::live::live_mouse_test {
namespace {

using live_view::BusyHostFixture;
using live_view::sample;

// Finds the line and column of a text in a picture.
MouseEvent press_at(const std::string& screen_text, const std::string& words) {
  const std::size_t at = screen_text.find(words);
  BOOST_REQUIRE(at != std::string::npos);
  const std::size_t begin = screen_text.rfind('\n', at) + 1;
  return {.line = static_cast<std::size_t>(std::count(
              screen_text.begin(), screen_text.begin() + static_cast<std::ptrdiff_t>(at), '\n')),
          .column = get_display_width(screen_text.substr(begin, at - begin))};
}

struct MouseFixture : BusyHostFixture {
  void press(const std::string& words, std::size_t right = 0) {
    MouseEvent event = press_at(text({30, 120}), words);
    event.column += right;
    view.take(event);
  }
  std::string selected_row() {
    for (const Line& line : view.render({30, 120}))
      if (line.style == LineStyle::Selected) return line.text.substr(0, line.text.find(' '));
    return {};
  }
};

BOOST_AUTO_TEST_SUITE(live_mouse_test)

BOOST_FIXTURE_TEST_CASE(a_click_on_a_heading_sorts_and_a_second_one_reverses, MouseFixture) {
  press("  sw/s", 2);
  BOOST_TEST(rows_on_screen() == "a c b kswapd0");
  BOOST_TEST(contains_text("by sw/s   "));
  press("  sw/s", 4);
  BOOST_TEST(rows_on_screen() == "kswapd0 b c a");
  BOOST_TEST(contains_text("by sw/s, reversed"));
  press("process ");
  BOOST_TEST(rows_on_screen() == "a b c kswapd0");
  press("  %cpu", 2);
  BOOST_TEST(rows_on_screen() == "b c a kswapd0");
  press("threads  ");
  BOOST_TEST(contains_text("by threads   "));
  view.take(MouseEvent{.line = press_at(text({30, 120}), "process ").line, .column = 119});
  BOOST_TEST(contains_text("by held   "));
}

BOOST_FIXTURE_TEST_CASE(a_click_on_a_row_selects_it, MouseFixture) {
  BOOST_TEST(selected_row() == "b");
  press("\nc ", 40);  // the line above the row
  BOOST_TEST(selected_row() == "b");
  view.take(MouseEvent{.line = press_at(text({30, 120}), "\nkswapd0 ").line + 1, .column = 70});
  BOOST_TEST(selected_row() == "kswapd0");
  for (const std::size_t line : {0, 1, 29, 500}) view.take(MouseEvent{.line = line, .column = 2});
  BOOST_TEST(selected_row() == "kswapd0");
  BOOST_TEST(rows_on_screen() == "b c a kswapd0");
}

BOOST_FIXTURE_TEST_CASE(the_wheel_scrolls_rows_and_pages, MouseFixture) {
  std::vector<screen_windows::ThreadActivity> many;
  for (int i = 0; i < 100; ++i)
    many.push_back({.name = std::string(1, static_cast<char>('a' + i % 26)) +
                            std::string(1, static_cast<char>('a' + i / 26)),
                    .cpu = static_cast<std::uint64_t>(1000 - i) * screen_windows::kMs});
  history.add(sample(2));
  view.on_new_window(screen_windows::window_of(many));
  const MouseEvent down{.kind = MouseEvent::Kind::WheelDown}, up{.kind = MouseEvent::Kind::WheelUp};
  BOOST_TEST(rows_on_screen().substr(0, 5) == "aa ba");
  view.take(down);
  BOOST_TEST(rows_on_screen().substr(0, 5) == "da ea");
  BOOST_TEST(selected_row() == "da");  // still on the screen
  view.take(up);
  BOOST_TEST(rows_on_screen().substr(0, 5) == "aa ba");
  BOOST_TEST(selected_row() == "da");
  view.take(up);
  BOOST_TEST(rows_on_screen().substr(0, 5) == "aa ba");
  for (int i = 0; i < 100; ++i) view.take(down);
  BOOST_TEST(contains_text("\nvd "));
  view.take(U'?');
  BOOST_TEST(contains_text("ctprof live: the last window"));
  view.take(down);
  BOOST_TEST(!contains_text("ctprof live: the last window"));
}

BOOST_FIXTURE_TEST_CASE(clicks_on_pages_do_nothing, MouseFixture) {
  view.take(U'?');
  const std::string help = text({30, 120});
  for (std::size_t line = 0; line < 30; ++line) view.take(MouseEvent{.line = line, .column = 5});
  BOOST_TEST(text({30, 120}) == help);
  view.take(U'?');
  BOOST_TEST(rows_on_screen() == "b c a kswapd0");
}

BOOST_FIXTURE_TEST_CASE(the_mouse_can_be_turned_off, MouseFixture) {
  BOOST_TEST(view.uses_mouse());
  press_keys(U"m");
  BOOST_TEST(!view.uses_mouse());
  BOOST_TEST(contains_text("the mouse is off: the terminal selects text"));
  press_keys(U"m");
  BOOST_TEST(view.uses_mouse());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::live::live_mouse_test
