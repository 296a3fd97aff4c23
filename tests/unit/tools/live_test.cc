// What `ctprof live` keeps and shows, without a terminal and without a host.

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/base/text.hpp"
#include "core/registry/loader.hpp"
#include "core/registry/registry.hpp"
#include "core/render/terminal_text.hpp"
#include "tests/unit/support/made_screen.hpp"
#include "tools/ctprof/live/history.hpp"
#include "tools/ctprof/live/keys.hpp"
#include "tools/ctprof/live/thread_page.hpp"
#include "tools/ctprof/live/view.hpp"

namespace ctprof::live::live_test {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

Sample sample(std::uint64_t number, std::size_t bytes = 100) {
  return {.number = number,
          .closed_ns = number * kSecond,
          .length_ns = kSecond,
          .bytes = std::make_shared<const std::string>(bytes, 'x')};
}

BOOST_AUTO_TEST_SUITE(live_test)

BOOST_AUTO_TEST_CASE(a_history_is_ten_minutes_long) {
  History history(1 << 20);
  BOOST_CHECK(history.empty());
  for (std::uint64_t number = 1; number <= 700; ++number) history.add(sample(number));
  BOOST_CHECK_EQUAL(history.oldest().number, 101);
  BOOST_CHECK_EQUAL(history.newest().number, 700);
  BOOST_CHECK_EQUAL(history.length_ns(), 600 * kSecond);
  BOOST_CHECK(!history.lacks_room());
  BOOST_CHECK(!history.find(100));
  BOOST_CHECK(!history.find(701));
  BOOST_REQUIRE(history.find(101));
  BOOST_CHECK_EQUAL(history.find(350)->number, 350);
}

BOOST_AUTO_TEST_CASE(or_as_long_as_it_has_room) {
  History history(1000);
  for (std::uint64_t number = 1; number <= 30; ++number) history.add(sample(number));
  BOOST_CHECK_EQUAL(history.oldest().number, 21);
  BOOST_CHECK_EQUAL(history.bytes(), 1000);
  BOOST_CHECK(history.lacks_room());
  history.add(sample(31, 5000));  // larger than all there may be: it is there all the same
  BOOST_CHECK_EQUAL(history.oldest().number, 31);
  BOOST_CHECK_EQUAL(history.newest().number, 31);
}

BOOST_AUTO_TEST_CASE(each_key_does_one_thing) {
  std::set<Key> seen;
  for (const KeyInfo& one : keys()) {
    BOOST_CHECK(one.deed != Deed::None);
    BOOST_CHECK(!one.help.empty());
    for (const Key key : {one.key, one.other})
      if (key != 0) {
        BOOST_CHECK(seen.insert(key).second);
        BOOST_CHECK(deed_of(key) == one.deed);
      }
  }
  BOOST_CHECK(deed_of(U'x') == Deed::None);
  BOOST_CHECK(deed_of(0) == Deed::None);
}

BOOST_AUTO_TEST_CASE(as_many_keys_are_named_as_fit) {
  BOOST_CHECK_EQUAL(key_line(0), "");
  BOOST_CHECK_EQUAL(key_line(6), "q quit");
  BOOST_CHECK_EQUAL(key_line(13), "q quit");
  BOOST_CHECK_EQUAL(key_line(14), "q quit  ? help");
}

BOOST_AUTO_TEST_CASE(a_sparkline_is_as_high_as_its_highest) {
  BOOST_CHECK_EQUAL(sparkline({}), "");
  BOOST_CHECK_EQUAL(sparkline(std::vector<double>{0, 0}), "▁▁");
  BOOST_CHECK_EQUAL(sparkline(std::vector<double>{0, 7, 3, -1}), "▁█▄▁");
  BOOST_CHECK_EQUAL(sparkline(std::vector<double>{std::nan(""), 1}), " █");
}

// "b a c": the first words of the lines below the table's heading, which begins with that word.
std::string rows_below(const std::string& picture, const std::string& heading) {
  std::string names;
  bool is_below = false;
  for (const std::string_view line : split(picture, '\n')) {
    const std::string word(line.substr(0, line.find(' ')));
    if (is_below && (word.empty() || word == "not")) break;
    if (is_below) names += (names.empty() ? "" : " ") + word;
    is_below = is_below || word == heading;
  }
  return names;
}

struct Fixture {
  Registry registry{LoadedPlugins{}};
  Teller teller{registry, {}, {}};
  History history{1 << 20};
  View view{teller, history};

  std::string text(Size size) {
    std::string all;
    for (const Line& line : view.picture(size)) all += line.text + "\n";
    return all;
  }
};

// A window in which a, b and c ran, and a kernel thread.
struct BusyFixture : Fixture {
  BusyFixture() {
    using made_screen::kMs;
    history.add(sample(1));
    view.take_window(
        made_screen::window_of({{.name = "a", .cpu = 3000 * kMs, .switches = 900},
                                {.name = "b", .cpu = 5000 * kMs, .switches = 100},
                                {.name = "c", .cpu = 4000 * kMs, .switches = 500},
                                {.name = "kswapd0", .cpu = 2000 * kMs, .is_kernel = true}}));
  }
  // The same where a thread of `name` waited for a CPU for most of the time.
  void add_wait(std::uint64_t number, const std::string& name) {
    using made_screen::kMs;
    const auto wait = [](Snapshot& end, bool is_end) {
      const MetricDef def = made_screen::with_role(
          made_screen::shown(made_screen::metric("wait", "MonotonicNs", "SumNs"),
                             {"%wait", 5, CTPROF_SHOWN_PERCENT, false, 1e7}),
          "wait-time");
      made_screen::add_u64(end, def, {is_end ? 9000 * kMs : 0, 0});
    };
    history.add(sample(number));
    view.take_window(made_screen::window_of(
        {{.name = name, .cpu = 500 * kMs}, {.name = "hog", .cpu = 9500 * kMs}}, 10, {}, wait));
  }
  void take(std::u32string_view keys) {
    for (const Key key : keys) view.take(key);
  }
  std::string rows(const std::string& heading = "process") {
    return rows_below(text({30, 120}), heading);
  }
  bool shows(const std::string& words) { return text({30, 120}).find(words) != std::string::npos; }
};

BOOST_FIXTURE_TEST_CASE(reverses_any_order, BusyFixture) {
  BOOST_TEST(rows() == "b c a kswapd0");
  take(U"r");
  BOOST_TEST(rows() == "kswapd0 a c b");
  BOOST_TEST(shows("by score, reversed"));
  take(U"r");
  BOOST_TEST(rows() == "b c a kswapd0");
  take(U"s");
  BOOST_TEST(rows() == "a b c kswapd0");
  take(U"r");
  BOOST_TEST(rows() == "kswapd0 c b a");
  BOOST_TEST(shows("by name, reversed"));
  take(U"s");  // another column begins with the largest
  BOOST_TEST(shows("by %cpu   "));
  BOOST_TEST(rows() == "b c a kswapd0");
  take(U"s");
  BOOST_TEST(rows() == "a c b kswapd0");
  take(U"r");
  BOOST_TEST(rows() == "kswapd0 b c a");
}

BOOST_FIXTURE_TEST_CASE(keeps_the_order_of_groups_and_of_threads_apart, BusyFixture) {
  take(U"r");
  view.take(key(Special::Enter));
  BOOST_TEST(shows("threads of kswapd0, by score   "));
  BOOST_TEST(rows("thread") == "kswapd0");
  view.take(key(Special::Escape));
  BOOST_TEST(shows("by score, reversed"));
}

BOOST_FIXTURE_TEST_CASE(hides_kernel_threads_and_says_so, BusyFixture) {
  take(U"K");
  BOOST_TEST(rows() == "b c a");
  BOOST_TEST(shows("kernel threads are hidden"));
  BOOST_TEST(shows("1 row of kernel threads (K)"));
  take(U"/k");
  view.take(key(Special::Enter));
  BOOST_TEST(shows("kernel threads are hidden; K shows them"));
  view.take(key(Special::Escape));
  take(U"K");
  BOOST_TEST(rows() == "b c a kswapd0");
  BOOST_TEST(!shows("of kernel threads (K)"));
}

BOOST_FIXTURE_TEST_CASE(hides_kernel_threads_of_a_group, BusyFixture) {
  take(U"g");  // all are in one cgroup
  view.take(key(Special::Enter));
  BOOST_TEST(rows("thread") == "b c a kswapd0");
  take(U"K");
  BOOST_TEST(rows("thread") == "b c a");
}

BOOST_FIXTURE_TEST_CASE(shows_findings_above_the_table_only_where_there_are_some, BusyFixture) {
  BOOST_TEST(!shows("\n1 "));
  add_wait(2, "server");
  const std::string picture = text({30, 120});
  const std::size_t finding = picture.find("1 server waited 9.0 s for a CPU in 10.0 s");
  BOOST_TEST(finding < picture.find("processes by name"));
  BOOST_TEST(finding < picture.find("\nprocess "));
  BOOST_TEST(picture.find("ctprof show") == std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(findings_take_few_lines_of_a_small_terminal, BusyFixture) {
  const std::string name(80, 'n');
  add_wait(2, name);
  for (const std::size_t lines : {16, 24, 30, 60}) {
    std::size_t taken = 0;
    bool is_above = true;
    for (const std::string_view line : split(text({lines, 40}), '\n')) {
      is_above = is_above && line.find("now   ") != 0;
      taken += is_above && (line.starts_with("1 ") || taken > 0);
    }
    BOOST_TEST(taken == (lines < 30 ? 2 : 3));
  }
  BOOST_TEST(text({14, 40}).find("\n1 nnn") == std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(shows_findings_in_full_with_their_commands, BusyFixture) {
  take(U"f");
  BOOST_TEST(shows("no findings in this window"));
  take(U"f");
  BOOST_TEST(rows() == "b c a kswapd0");
  add_wait(2, "server");
  take(U"f");
  BOOST_TEST(shows("1 server waited 9.0 s for a CPU in 10.0 s (95 % of the time"));
  BOOST_TEST(shows("ctprof show FILE --group-by comm --where 'pcomm == \"server\"'"));
  view.take(key(Special::Escape));
  BOOST_TEST(shows("processes by name"));
}

BOOST_FIXTURE_TEST_CASE(counts_the_lines_below_a_page, Fixture) {
  view.take(U'?');
  BOOST_TEST(text({200, 80}).find("more line") == std::string::npos);
  BOOST_TEST(text({24, 80}).find("more lines: Down, PgDn --") != std::string::npos);
  view.take(key(Special::End));
  BOOST_TEST(text({24, 80}).find("more line") == std::string::npos);
  BOOST_TEST(text({24, 80}).find("draw everything anew") != std::string::npos);
  view.take(key(Special::Up));
  BOOST_TEST(text({24, 80}).find("-- 2 more lines: Down, PgDn --") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(a_thread_page_begins_with_name_and_figures, BusyFixture) {
  view.take(key(Special::Enter));
  view.take(key(Special::Enter));
  const std::string picture = text({30, 80});
  const std::size_t name = picture.find("\nb   %cpu 50.0   sw/s 10.0");
  BOOST_TEST(name != std::string::npos);
  BOOST_TEST(name < picture.find("\nmetric "));
}

BOOST_FIXTURE_TEST_CASE(a_thread_page_keeps_names_and_figures_whole, BusyFixture) {
  view.take(key(Special::Enter));
  view.take(key(Special::Enter));
  for (const std::size_t width : {40, 60, 80, 120, 200})
    for (const std::string_view line : split(text({40, width}), '\n')) {
      if (!line.starts_with("start_time")) continue;
      BOOST_TEST(line.find("start_time_clock_ticks  ") == 0);
      BOOST_TEST(line.find("5ticks") < std::string::npos);
    }
  BOOST_TEST(text({40, 80}).find("start_time_clock_ticks") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(changes_the_interval_within_limits, Fixture) {
  BOOST_TEST(view.interval_ns() == kSecond);
  view.take(U'-');
  BOOST_TEST(view.interval_ns() == kSecond / 2);
  BOOST_TEST(text({24, 80}).find("windows take 0.5 s from now on") != std::string::npos);
  view.take(U'-');
  BOOST_TEST(view.interval_ns() == kSecond / 2);
  BOOST_TEST(text({24, 80}).find("windows are at least 0.5 s") != std::string::npos);
  for (int i = 0; i < 20; ++i) view.take(U'+');
  BOOST_TEST(view.interval_ns() == 60 * kSecond);
  BOOST_TEST(text({24, 80}).find("windows are at most 60 s") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(shows_another_interval_than_a_second, BusyFixture) {
  BOOST_TEST(!shows("every"));
  take(U"+");
  BOOST_TEST(shows("every 2 s"));
}

BOOST_FIXTURE_TEST_CASE(a_picture_is_as_large_as_asked, Fixture) {
  for (const bool has_help : {false, true}) {
    if (has_help) view.take(U'?');
    for (std::size_t lines = 0; lines < 40; ++lines)
      for (std::size_t columns = 0; columns < 130; columns += 7) {
        const auto picture = view.picture({lines, columns});
        BOOST_CHECK_LE(picture.size(), lines);
        for (const Line& line : picture)
          BOOST_CHECK_LE(display_width(line.text), std::max<std::size_t>(columns, 1));
      }
  }
}

BOOST_FIXTURE_TEST_CASE(a_small_terminal_is_told_so, Fixture) {
  BOOST_CHECK(text({9, 100}).find("needs a terminal of 40 columns and 10 lines") !=
              std::string::npos);
  BOOST_CHECK(text({10, 40}).find("needs a terminal") == std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(help_names_every_key, Fixture) {
  view.take(U'?');
  const std::string help = text({100, 200});
  for (const KeyInfo& one : keys()) {
    BOOST_CHECK(help.find(one.shown) != std::string::npos);
    BOOST_CHECK(help.find(one.help) != std::string::npos);
  }
  view.take(key(Special::Escape));
  BOOST_CHECK(text({100, 200}) != help);
}

BOOST_FIXTURE_TEST_CASE(what_is_typed_is_a_filter_not_keys, Fixture) {
  for (const Key key : U"/qé字")
    if (key != 0) view.take(key);
  BOOST_CHECK(!view.quits());
  BOOST_CHECK(text({24, 80}).find("filter: qé字_") != std::string::npos);
  view.take(key(Special::Backspace));
  view.take(key(Special::Backspace));
  BOOST_CHECK(text({24, 80}).find("filter: q_") != std::string::npos);
  view.take(0x202e);  // turns the direction of writing
  BOOST_CHECK(text({24, 80}).find("filter: q\\u202e_") != std::string::npos);
  view.take(key(Special::Escape));
  BOOST_CHECK(text({24, 80}).find("filter") == std::string::npos ||
              text({24, 80}).find("filter: ") == std::string::npos);
  view.take(U'q');
  BOOST_CHECK(view.quits());
}

BOOST_FIXTURE_TEST_CASE(a_filter_has_an_end, Fixture) {
  view.take(U'/');
  for (int i = 0; i < 10000; ++i) view.take(U'x');
  BOOST_CHECK_LE(text({24, 400}).size(), 1000);
}

// A window that cannot be read is told, and harms nothing.
BOOST_FIXTURE_TEST_CASE(a_damaged_window_is_told, Fixture) {
  history.add(sample(1));
  view.take_window();
  BOOST_CHECK(text({24, 200}).find("reading 'a window of the history'") != std::string::npos);
  for (const KeyInfo& one : keys())
    if (one.deed != Deed::Quit) {
      view.take(one.key);
      if (one.deed == Deed::Filter) view.take(key(Special::Escape));
      text({24, 80});
    }
  BOOST_CHECK(!view.quits());
}

BOOST_FIXTURE_TEST_CASE(marks_say_what_is_written, Fixture) {
  BOOST_CHECK(!view.take_wanted());
  for (std::uint64_t number = 1; number <= 9; ++number) history.add(sample(number));
  view.take_window();
  view.take(U'w');
  auto wanted = view.take_wanted();
  BOOST_REQUIRE(wanted);
  BOOST_CHECK_EQUAL(wanted->size(), 1);
  BOOST_CHECK_EQUAL(wanted->front().number, 9);
  BOOST_CHECK(!view.take_wanted());
  for (const Key key : {U'a', U'[', U'[', U'b', U'w'}) view.take(key);
  wanted = view.take_wanted();
  BOOST_REQUIRE(wanted);
  BOOST_CHECK_EQUAL(wanted->size(), 3);
  BOOST_CHECK_EQUAL(wanted->front().number, 7);
  BOOST_CHECK_EQUAL(wanted->back().number, 9);
}

// Marks outlive the history; what lay between them does not.
BOOST_AUTO_TEST_CASE(what_is_gone_is_not_written) {
  const Registry registry{LoadedPlugins{}};
  const Teller teller(registry, {}, {});
  History history(300);
  View view(teller, history);
  history.add(sample(1));
  view.take_window();
  view.take(U'a');
  for (std::uint64_t number = 2; number <= 9; ++number) history.add(sample(number));
  view.take_window();
  view.take(U'b');
  view.take(U'w');
  BOOST_CHECK(!view.take_wanted());
  std::string all;
  for (const Line& line : view.picture({24, 120})) all += line.text;
  BOOST_CHECK(all.find("nothing was written") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::live::live_test
