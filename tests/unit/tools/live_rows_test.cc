// Tests the effect of keys on rows, findings and pages of `ctprof live`.

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>

#include "tests/unit/support/live_view.hpp"

namespace ctprof::live::live_rows_test {
namespace {

using live_view::BusyHostFixture;
using live_view::kSecond;
using live_view::ViewFixture;

BOOST_AUTO_TEST_SUITE(live_rows_test)

BOOST_FIXTURE_TEST_CASE(reverses_any_order, BusyHostFixture) {
  BOOST_TEST(rows_on_screen() == "b c a kswapd0");
  press_keys(U"r");
  BOOST_TEST(rows_on_screen() == "kswapd0 a c b");
  BOOST_TEST(contains_text("by score, reversed"));
  press_keys(U"r");
  BOOST_TEST(rows_on_screen() == "b c a kswapd0");
  press_keys(U"s");
  BOOST_TEST(rows_on_screen() == "a b c kswapd0");
  press_keys(U"r");
  BOOST_TEST(rows_on_screen() == "kswapd0 c b a");
  BOOST_TEST(contains_text("by name, reversed"));
  press_keys(U"s");  // the next column sorts its largest values first
  BOOST_TEST(contains_text("by %cpu   "));
  BOOST_TEST(rows_on_screen() == "b c a kswapd0");
  press_keys(U"s");
  BOOST_TEST(rows_on_screen() == "a c b kswapd0");
  press_keys(U"r");
  BOOST_TEST(rows_on_screen() == "kswapd0 b c a");
}

BOOST_FIXTURE_TEST_CASE(keeps_separate_orders_for_groups_and_threads, BusyHostFixture) {
  press_keys(U"r");
  view.take(to_key(SpecialKey::Enter));
  BOOST_TEST(contains_text("threads of kswapd0, by score   "));
  BOOST_TEST(rows_on_screen("thread") == "kswapd0");
  view.take(to_key(SpecialKey::Escape));
  BOOST_TEST(contains_text("by score, reversed"));
}

BOOST_FIXTURE_TEST_CASE(hides_and_counts_kernel_threads, BusyHostFixture) {
  press_keys(U"K");
  BOOST_TEST(rows_on_screen() == "b c a");
  BOOST_TEST(contains_text("kernel threads are hidden"));
  BOOST_TEST(contains_text("1 row of kernel threads (K)"));
  press_keys(U"/k");
  view.take(to_key(SpecialKey::Enter));
  BOOST_TEST(contains_text("kernel threads are hidden; K shows them"));
  view.take(to_key(SpecialKey::Escape));
  press_keys(U"K");
  BOOST_TEST(rows_on_screen() == "b c a kswapd0");
  BOOST_TEST(!contains_text("of kernel threads (K)"));
}

BOOST_FIXTURE_TEST_CASE(hides_kernel_threads_of_a_group, BusyHostFixture) {
  press_keys(U"g");  // all are in one cgroup
  view.take(to_key(SpecialKey::Enter));
  BOOST_TEST(rows_on_screen("thread") == "b c a kswapd0");
  press_keys(U"K");
  BOOST_TEST(rows_on_screen("thread") == "b c a");
}

BOOST_FIXTURE_TEST_CASE(shows_findings_above_the_table_only_if_there_are_some, BusyHostFixture) {
  BOOST_TEST(!contains_text("\n1 "));
  add_wait(2, "server");
  const std::string screen_text = text({30, 120});
  const std::size_t finding = screen_text.find("1 server waited 9.0 s for a CPU in 10.0 s");
  BOOST_TEST(finding < screen_text.find("processes by name"));
  BOOST_TEST(finding < screen_text.find("\nprocess "));
  BOOST_TEST(screen_text.find("ctprof show") == std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(findings_take_few_lines_of_a_small_terminal, BusyHostFixture) {
  const std::string name(80, 'n');
  add_wait(2, name);
  for (const std::size_t lines : {16, 24, 30, 60}) {
    std::size_t taken = 0;
    bool is_above = true;
    const std::string screen_text = text({lines, 40});
    for (const std::string_view line : split(screen_text, '\n')) {
      is_above = is_above && line.find("now   ") != 0;
      taken += is_above && (line.starts_with("1 ") || taken > 0);
    }
    BOOST_TEST(taken == (lines < 30 ? 2 : 3));
  }
  BOOST_TEST(text({14, 40}).find("\n1 nnn") == std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(shows_findings_in_full_with_their_commands, BusyHostFixture) {
  press_keys(U"f");
  BOOST_TEST(contains_text("no findings in this window"));
  press_keys(U"f");
  BOOST_TEST(rows_on_screen() == "b c a kswapd0");
  add_wait(2, "server");
  press_keys(U"f");
  BOOST_TEST(contains_text("1 server waited 9.0 s for a CPU in 10.0 s (95 % of the time"));
  BOOST_TEST(contains_text("ctprof show FILE --group-by comm --where 'pcomm == \"server\"'"));
  view.take(to_key(SpecialKey::Escape));
  BOOST_TEST(contains_text("processes by name"));
}

BOOST_FIXTURE_TEST_CASE(counts_the_lines_below_a_page, ViewFixture) {
  view.take(U'?');
  BOOST_TEST(text({200, 80}).find("more line") == std::string::npos);
  BOOST_TEST(text({24, 80}).find("more lines: Down, PgDn --") != std::string::npos);
  view.take(to_key(SpecialKey::End));
  BOOST_TEST(text({24, 80}).find("more line") == std::string::npos);
  BOOST_TEST(text({24, 80}).find("redraw everything") != std::string::npos);
  view.take(to_key(SpecialKey::Up));
  BOOST_TEST(text({24, 80}).find("-- 2 more lines: Down, PgDn --") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(an_ellipsis_marks_truncated_text_below_the_table, BusyHostFixture) {
  press_keys(U"K");
  BOOST_TEST(text({30, 120}).find("not shown: 1 row of kernel threads (K)\n") != std::string::npos);
  const std::string narrow = text({12, 40});
  const std::size_t line = narrow.find("not shown: ");
  BOOST_REQUIRE(line != std::string::npos);
  BOOST_TEST(narrow.substr(line, narrow.find('\n', line) - line).ends_with("…"));
}

BOOST_FIXTURE_TEST_CASE(a_thread_page_starts_with_name_and_values, BusyHostFixture) {
  view.take(to_key(SpecialKey::Enter));
  view.take(to_key(SpecialKey::Enter));
  const std::string screen_text = text({30, 80});
  const std::size_t name = screen_text.find("\nb   %cpu 50.0   sw/s 10.0");
  BOOST_TEST(name != std::string::npos);
  BOOST_TEST(name < screen_text.find("\nmetric "));
}

BOOST_FIXTURE_TEST_CASE(a_thread_page_never_shortens_names_and_values, BusyHostFixture) {
  view.take(to_key(SpecialKey::Enter));
  view.take(to_key(SpecialKey::Enter));
  for (const std::size_t width : {40, 60, 80, 120, 200}) {
    const std::string screen_text = text({40, width});
    for (const std::string_view line : split(screen_text, '\n')) {
      if (!line.starts_with("start_time")) continue;
      BOOST_TEST(line.find("start_time_clock_ticks  ") == 0);
      BOOST_TEST(line.find("5ticks") < std::string::npos);
    }
  }
  BOOST_TEST(text({40, 80}).find("start_time_clock_ticks") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(changes_the_interval_within_limits, ViewFixture) {
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

BOOST_FIXTURE_TEST_CASE(shows_the_length_of_the_first_window_before_it_closes, ViewFixture) {
  BOOST_TEST(text({24, 80}).starts_with("the first window takes 1 s ...\n"));
  view.take(U'+');
  BOOST_TEST(text({24, 80}).starts_with("the first window takes 2 s ...\n"));
}

BOOST_FIXTURE_TEST_CASE(shows_intervals_other_than_one_second, BusyHostFixture) {
  BOOST_TEST(!contains_text("every"));
  press_keys(U"+");
  BOOST_TEST(contains_text("every 2 s"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::live::live_rows_test
