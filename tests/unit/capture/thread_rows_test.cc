// Tests which row of a window a record belongs to when ids are reused or pass to another thread.

#include <boost/test/unit_test.hpp>

#include "core/capture/thread_rows.hpp"
#include "tests/unit/capture/test_recording.hpp"

namespace ctprof::thread_rows_test {
namespace {

using namespace hand_made;

constexpr std::uint32_t kNoRow = UINT32_MAX;

std::uint32_t row_of(const ThreadRows& rows, std::uint64_t tgid, std::uint64_t tid,
                     std::uint64_t start, std::uint64_t second) {
  const ThreadRows::Row* found = rows.find(record_of(tgid, tid, 1, second * kSecond, start));
  return found ? found->row : kNoRow;
}

BOOST_AUTO_TEST_SUITE(thread_rows_test)

BOOST_AUTO_TEST_CASE(distinguishes_threads_with_a_reused_id) {
  // Rows: thread 7, the second thread 8, the first thread 8.
  const Snapshot window = window_with_reused_id();
  const ThreadRows rows(window);
  BOOST_TEST(row_of(rows, 7, 8, 5, 0) == 2u);
  BOOST_TEST(row_of(rows, 7, 8, 1500, 0) == 1u);
  BOOST_TEST(row_of(rows, 7, 8, 0, 11) == 2u);
  BOOST_TEST(row_of(rows, 7, 8, 0, 19) == 1u);
  BOOST_TEST(row_of(rows, 7, 8, 6, 19) == kNoRow);
  BOOST_TEST(row_of(rows, 8, 8, 5, 11) == kNoRow);
}

// Returns a window in which thread 8 of process 7 calls execve at second 15 and takes over the
// leader's id. The leader exited at 14.
Snapshot after_exec(const std::vector<StartedThread>& living, ExitedThreads ended) {
  ended.execs = {{7, 8, 0, 15 * kSecond}};
  auto made = make_window(snapshot_at(10, {{7, 5}, {8, 6}}, 7), snapshot_at(20, living, 7),
                          std::move(ended));
  BOOST_REQUIRE(made);
  return std::move(*made);
}

void check_exec(const Snapshot& window, std::uint32_t successor, std::uint32_t leader) {
  const ThreadRows rows(window);
  BOOST_TEST(row_of(rows, 7, 7, 5, 12) == leader);
  BOOST_TEST(row_of(rows, 7, 7, 5, 14) == leader);
  BOOST_TEST(row_of(rows, 7, 8, 6, 12) == successor);
  BOOST_TEST(row_of(rows, 7, 8, 6, 0) == successor);
  BOOST_TEST(row_of(rows, 7, 7, 5, 16) == successor);
  BOOST_TEST(row_of(rows, 7, 7, 5, 0) == successor);
  BOOST_TEST(row_of(rows, 7, 8, 6, 16) == kNoRow);
  BOOST_TEST(row_of(rows, 7, 9, 6, 12) == kNoRow);
}

BOOST_AUTO_TEST_CASE(follows_a_thread_that_takes_over_the_leaders_id) {
  check_exec(after_exec({{7, 5}}, exited_at(14, {{7, 5}}, 7)), 0, 1);
}

BOOST_AUTO_TEST_CASE(follows_a_thread_that_takes_over_and_exits) {
  ExitedThreads ended = exited_at(14, {{7, 5}, {7, 5}}, 7);
  ended.exit_ns[1] = 18 * kSecond;
  const Snapshot window = after_exec({}, std::move(ended));
  BOOST_REQUIRE_EQUAL(window.threads().rows, 2u);
  const bool in_order = window.window->seen_times[0].last < window.window->seen_times[1].last;
  check_exec(window, in_order ? 1 : 0, in_order ? 0 : 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::thread_rows_test
