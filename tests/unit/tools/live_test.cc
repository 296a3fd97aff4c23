// Tests the history and views of `ctprof live`, without a terminal or a host.

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/registry/loader.hpp"
#include "core/registry/registry.hpp"
#include "core/render/terminal_text.hpp"
#include "tests/unit/support/live_view.hpp"
#include "tools/ctprof/live/history.hpp"
#include "tools/ctprof/live/keys.hpp"
#include "tools/ctprof/live/thread_page.hpp"
#include "tools/ctprof/live/view.hpp"

namespace ctprof::live::live_test {
namespace {

using live_view::BusyHostFixture;
using live_view::kSecond;
using live_view::sample;
using live_view::ViewFixture;

BOOST_AUTO_TEST_SUITE(live_test)

BOOST_AUTO_TEST_CASE(a_history_is_ten_minutes_long) {
  History history(1 << 20);
  BOOST_CHECK(history.empty());
  for (std::uint64_t number = 1; number <= 700; ++number) history.add(sample(number));
  BOOST_CHECK_EQUAL(history.oldest().number, 101);
  BOOST_CHECK_EQUAL(history.newest().number, 700);
  BOOST_CHECK_EQUAL(history.length_ns(), 600 * kSecond);
  BOOST_CHECK(!history.is_limited_by_size());
  BOOST_CHECK(!history.find(100));
  BOOST_CHECK(!history.find(701));
  BOOST_REQUIRE(history.find(101));
  BOOST_CHECK_EQUAL(history.find(350)->number, 350);
}

BOOST_AUTO_TEST_CASE(a_history_is_limited_by_its_capacity) {
  History history(1000);
  for (std::uint64_t number = 1; number <= 30; ++number) history.add(sample(number));
  BOOST_CHECK_EQUAL(history.oldest().number, 21);
  BOOST_CHECK_EQUAL(history.bytes(), 1000);
  BOOST_CHECK(history.is_limited_by_size());
  history.add(sample(31, 5000));  // kept although it exceeds the limit
  BOOST_CHECK_EQUAL(history.oldest().number, 31);
  BOOST_CHECK_EQUAL(history.newest().number, 31);
}

BOOST_AUTO_TEST_CASE(a_history_reports_the_limit_that_removed_the_last_windows) {
  const auto long_window = [](std::uint64_t number, std::size_t bytes) {
    Sample window = sample(number, bytes);
    window.length_ns = History::kMaxLengthNs / 2;
    return window;
  };
  History history(1000);
  history.add(long_window(1, 900));
  BOOST_CHECK(!history.is_limited_by_size());
  history.add(long_window(2, 900));
  BOOST_CHECK(history.is_limited_by_size());
  history.add(long_window(3, 50));
  BOOST_CHECK(history.is_limited_by_size());
  history.add(long_window(4, 50));
  BOOST_CHECK_EQUAL(history.oldest().number, 3);
  BOOST_CHECK(!history.is_limited_by_size());
}

BOOST_AUTO_TEST_CASE(each_key_has_one_function) {
  std::set<Key> seen;
  for (const KeyInfo& one : key_table()) {
    BOOST_CHECK(one.action != Action::None);
    BOOST_CHECK(!one.help.empty());
    for (const Key key : {one.key, one.second_key})
      if (key != 0) {
        BOOST_CHECK(seen.insert(key).second);
        BOOST_CHECK(find_action(key) == one.action);
      }
  }
  BOOST_CHECK(find_action(U'x') == Action::None);
  BOOST_CHECK(find_action(0) == Action::None);
}

BOOST_AUTO_TEST_CASE(names_as_many_keys_as_fit) {
  BOOST_CHECK_EQUAL(key_line(0), "");
  BOOST_CHECK_EQUAL(key_line(6), "q quit");
  BOOST_CHECK_EQUAL(key_line(13), "q quit");
  BOOST_CHECK_EQUAL(key_line(14), "q quit  ? help");
}

BOOST_AUTO_TEST_CASE(scales_a_sparkline_to_its_maximum) {
  BOOST_CHECK_EQUAL(sparkline({}), "");
  BOOST_CHECK_EQUAL(sparkline(std::vector<double>{0, 0}), "▁▁");
  BOOST_CHECK_EQUAL(sparkline(std::vector<double>{0, 7, 3, -1}), "▁█▄▁");
  BOOST_CHECK_EQUAL(sparkline(std::vector<double>{std::nan(""), 1}), " █");
}

BOOST_FIXTURE_TEST_CASE(a_picture_has_the_requested_size, ViewFixture) {
  for (const bool has_help : {false, true}) {
    if (has_help) view.take(U'?');
    for (std::size_t lines = 0; lines < 40; ++lines)
      for (std::size_t columns = 0; columns < 130; columns += 7) {
        const auto picture = view.render({lines, columns});
        BOOST_CHECK_LE(picture.size(), lines);
        for (const Line& line : picture)
          BOOST_CHECK_LE(get_display_width(line.text), std::max<std::size_t>(columns, 1));
      }
  }
}

BOOST_FIXTURE_TEST_CASE(reports_that_the_terminal_is_too_small, ViewFixture) {
  BOOST_CHECK(text({9, 100}).find("needs a terminal of 40 columns and 10 lines") !=
              std::string::npos);
  BOOST_CHECK(text({10, 40}).find("needs a terminal") == std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(help_names_every_key, ViewFixture) {
  view.take(U'?');
  const std::string help = text({100, 200});
  for (const KeyInfo& one : key_table()) {
    BOOST_CHECK(help.find(one.label) != std::string::npos);
    BOOST_CHECK(help.find(one.help) != std::string::npos);
  }
  view.take(to_key(SpecialKey::Escape));
  BOOST_CHECK(text({100, 200}) != help);
}

BOOST_FIXTURE_TEST_CASE(typed_text_is_a_filter, ViewFixture) {
  for (const Key key : U"/qé字")
    if (key != 0) view.take(key);
  BOOST_CHECK(!view.should_quit());
  BOOST_CHECK(text({24, 80}).find("filter: qé字_") != std::string::npos);
  view.take(to_key(SpecialKey::Backspace));
  view.take(to_key(SpecialKey::Backspace));
  BOOST_CHECK(text({24, 80}).find("filter: q_") != std::string::npos);
  view.take(0x202e);  // changes the direction of text
  BOOST_CHECK(text({24, 80}).find("filter: q\\u202e_") != std::string::npos);
  view.take(to_key(SpecialKey::Escape));
  BOOST_CHECK(text({24, 80}).find("filter") == std::string::npos ||
              text({24, 80}).find("filter: ") == std::string::npos);
  view.take(U'q');
  BOOST_CHECK(view.should_quit());
}

BOOST_FIXTURE_TEST_CASE(limits_the_length_of_a_filter, ViewFixture) {
  view.take(U'/');
  for (int i = 0; i < 10000; ++i) view.take(U'x');
  BOOST_CHECK_LE(text({24, 400}).size(), 1000);
}

// A window that cannot be read gives a message and has no other effect.
BOOST_FIXTURE_TEST_CASE(reports_a_damaged_window, ViewFixture) {
  history.add(sample(1));
  view.on_new_window();
  BOOST_CHECK(text({24, 200}).find("reading 'a window of the history'") != std::string::npos);
  for (const KeyInfo& one : key_table())
    if (one.action != Action::Quit) {
      view.take(one.key);
      if (one.action == Action::Filter) view.take(to_key(SpecialKey::Escape));
      text({24, 80});
    }
  BOOST_CHECK(!view.should_quit());
}

BOOST_FIXTURE_TEST_CASE(writes_the_windows_between_marks, ViewFixture) {
  BOOST_CHECK(!view.take_windows_to_write());
  for (std::uint64_t number = 1; number <= 9; ++number) history.add(sample(number));
  view.on_new_window();
  view.take(U'w');
  auto wanted = view.take_windows_to_write();
  BOOST_REQUIRE(wanted);
  BOOST_CHECK_EQUAL(wanted->size(), 1);
  BOOST_CHECK_EQUAL(wanted->front().number, 9);
  BOOST_CHECK(!view.take_windows_to_write());
  for (const Key key : {U'a', U'[', U'[', U'b', U'w'}) view.take(key);
  wanted = view.take_windows_to_write();
  BOOST_REQUIRE(wanted);
  BOOST_CHECK_EQUAL(wanted->size(), 3);
  BOOST_CHECK_EQUAL(wanted->front().number, 7);
  BOOST_CHECK_EQUAL(wanted->back().number, 9);
}

BOOST_FIXTURE_TEST_CASE(shows_how_long_ago_a_paused_window_closed, BusyHostFixture) {
  press_keys(U" ");
  BOOST_CHECK(contains_text("paused, 0:00 ago"));
  for (std::uint64_t number = 2; number <= 6; ++number) history.add(sample(number));
  BOOST_CHECK(contains_text("paused, 0:05 ago"));
  press_keys(U" ");
  BOOST_CHECK(contains_text("now   "));
  BOOST_CHECK(!contains_text("paused"));
}

// Marks outlive the history, but the windows between them do not.
BOOST_AUTO_TEST_CASE(does_not_write_windows_that_left_the_history) {
  const Registry registry{LoadedPlugins{}};
  const WindowReporter reporter(registry, {}, {});
  History history(300);
  View view(reporter, history);
  history.add(sample(1));
  view.on_new_window();
  view.take(U'a');
  for (std::uint64_t number = 2; number <= 9; ++number) history.add(sample(number));
  view.on_new_window();
  view.take(U'b');
  view.take(U'w');
  BOOST_CHECK(!view.take_windows_to_write());
  std::string all;
  for (const Line& line : view.render({24, 120})) all += line.text;
  BOOST_CHECK(all.find("nothing was written") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::live::live_test
