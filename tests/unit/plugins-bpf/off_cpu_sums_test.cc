// Tests the sums of a thread in a window, computed from its state at the end.

#include <boost/test/unit_test.hpp>

#include "plugins/off-cpu/sums.hpp"

namespace off_cpu_sums_test {
using namespace ctprof::off_cpu;

namespace {

constexpr WindowSpan kSpan{.number = 3, .opened_ns = 1000, .ended_ns = 2000};

off_thread thread(off_state state, std::uint32_t window, std::uint64_t since) {
  off_thread made{};
  made.state = state;
  made.window = window;
  made.state_start = made.departure = since;
  return made;
}

BOOST_AUTO_TEST_SUITE(off_cpu_sums_test)

BOOST_AUTO_TEST_CASE(a_thread_that_sleeps_throughout_sleeps_for_the_whole_window) {
  for (const std::uint32_t window : {0u, 1u, 2u}) {
    off_thread sleeping_thread = thread(OFF_SLEEPING, window, 10);
    sleeping_thread.sums[1].ns[OFF_RUNNING] = 77;  // from an old window
    sleeping_thread.current_wait = 5;
    const WindowSums window_sums = compute_window_sums(kSpan, sleeping_thread, false);
    BOOST_TEST(window_sums.error_ns() == 0);
    BOOST_TEST(window_sums.sums.ns[OFF_SLEEPING] == 1000u);
    BOOST_TEST(window_sums.sums.counts[OFF_SLEEPING] == 1u);
    BOOST_TEST(window_sums.sums.waits == 1u);
    BOOST_TEST(window_sums.sums.longest == 1000u);
    BOOST_TEST(window_sums.sums.shortest == 1000u);
    BOOST_TEST(window_sums.unfinished_wait_ns == 1000u);
  }
}

BOOST_AUTO_TEST_CASE(adds_the_wait_in_progress_at_the_end) {
  off_thread queued_thread = thread(OFF_QUEUED, 3, 1900);
  queued_thread.departure = 1500;
  queued_thread.current_wait = 400;  // blocked before its wakeup
  queued_thread.sums[1].ns[OFF_RUNNING] = 500;
  queued_thread.sums[1].ns[OFF_SLEEPING] = 400;
  queued_thread.sums[1].counts[OFF_SLEEPING] = 1;
  for (const bool all : {false, true}) {
    const WindowSums window_sums = compute_window_sums(kSpan, queued_thread, all);
    BOOST_TEST(window_sums.error_ns() == 0);
    BOOST_TEST(window_sums.sums.ns[OFF_QUEUED] == 100u);
    BOOST_TEST(window_sums.sums.longest == 500u);
    BOOST_TEST(window_sums.unfinished_wait_ns == (all ? 500u : 400u));
    BOOST_TEST(window_sums.stacks_ns(all) == (all ? 500u : 400u));
  }
}

BOOST_AUTO_TEST_CASE(a_thread_with_an_event_after_the_end_has_complete_sums) {
  off_thread later = thread(OFF_RUNNING, 4, 2100);
  later.sums[1].ns[OFF_BLOCKED] = 1000;
  later.sums[0].ns[OFF_BLOCKED] = 100;
  const WindowSums window_sums = compute_window_sums(kSpan, later, false);
  BOOST_TEST(window_sums.error_ns() == 0);
  BOOST_TEST(window_sums.off_cpu_ns() == 1000u);
  BOOST_TEST(window_sums.unfinished_wait_ns == 0u);
}

BOOST_AUTO_TEST_CASE(truncates_a_run_that_ends_after_the_window) {
  off_thread leaving = thread(OFF_SLEEPING, 3, 2004);
  leaving.sums[1].ns[OFF_RUNNING] = 1004;
  const WindowSums window_sums = compute_window_sums(kSpan, leaving, false);
  BOOST_TEST(window_sums.error_ns() == 0);
  BOOST_TEST(window_sums.sums.waits == 0u);
}

BOOST_AUTO_TEST_CASE(a_started_thread_counts_from_its_start) {
  off_thread started_thread = thread(OFF_QUEUED, 3, 1700);
  started_thread.created = 1700;
  BOOST_TEST(compute_window_sums(kSpan, started_thread, false).wall_ns == 300u);
  BOOST_TEST(compute_window_sums(kSpan, started_thread, false).error_ns() == 0);
  started_thread.created = started_thread.state_start = 2000;
  BOOST_TEST(compute_window_sums(kSpan, started_thread, false).wall_ns == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace off_cpu_sums_test
