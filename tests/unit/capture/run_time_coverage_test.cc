// Tests how much of the run time of threads their samples represent.

#include "core/capture/run_time_coverage.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/support/named_stacks.hpp"
#include "tests/unit/support/test_windows.hpp"

namespace ctprof::run_time_coverage_test {
namespace {

using namespace hand_made;

constexpr std::uint64_t kMs = 1'000'000;

// Returns a window with two running threads and one that started and ran. `progress_ms` is the run
// time of the first thread that the kernel had not yet accounted at the end.
Snapshot window_with_run_times(std::vector<std::uint64_t> ran_ms, std::uint64_t progress_ms = 0) {
  Snapshot before = snapshot_at(10, {{7, 5}, {8, 5}}),
           after = snapshot_at(20, {{7, 5}, {8, 5}, {9, 1500}});
  constexpr std::uint64_t kBefore = 500 * kMs;
  add_u64(before, kRun, {kBefore, kBefore});
  add_u64(after, kRun, {kBefore + ran_ms[0] * kMs, kBefore + ran_ms[1] * kMs, ran_ms[2] * kMs});
  add_u64(before, kRunning, {0, 0});
  add_u64(after, kRunning, {progress_ms * kMs, 0, 0});
  auto window = make_window(before, std::move(after), {});
  BOOST_REQUIRE(window);
  return std::move(*window);
}

// Returns the message for samples of 10 ms, by thread.
std::string message_of(Snapshot window, const std::vector<std::uint64_t>& samples) {
  Cells<StackValue> cells;
  std::uint64_t all = 0;
  for (const std::uint64_t number : samples) {
    cells.push_back(StackValue{{"main;work", number * 10 * kMs}});
    all += number;
  }
  const Column& column = add_stacks(window, kStacks, cells);
  return describe_coverage(compute_run_time_coverage(window, column, all));
}

BOOST_AUTO_TEST_SUITE(run_time_coverage_test)

BOOST_AUTO_TEST_CASE(does_not_mention_complete_samples) {
  BOOST_TEST(message_of(window_with_run_times({4000, 2000, 1000}), {400, 200, 100}) == "");
  BOOST_TEST(message_of(window_with_run_times({0, 0, 0}), {0, 0, 0}) == "");
}

// With 100 expected samples of one hundredth each, a deviation of 40 is within four standard
// deviations.
BOOST_AUTO_TEST_CASE(does_not_mention_random_deviations) {
  BOOST_TEST(message_of(window_with_run_times({1000, 0, 0}), {65, 0, 0}) == "");
  BOOST_TEST(message_of(window_with_run_times({1000, 0, 0}), {140, 0, 0}) == "");
}

BOOST_AUTO_TEST_CASE(reports_samples_that_are_synchronous_with_a_program) {
  BOOST_TEST(message_of(window_with_run_times({4000, 2000, 1000}), {18, 200, 100}) ==
             "samples represent 3.18 of 7.00 s of run time");
  BOOST_TEST(message_of(window_with_run_times({4000, 0, 0}), {492, 0, 0}) ==
             "samples represent 4.92 of 4.00 s of run time");
}

BOOST_AUTO_TEST_CASE(run_time_in_progress_counts_as_run_time) {
  BOOST_TEST(message_of(window_with_run_times({1000, 0, 0}, 3000), {400, 0, 0}) == "");
  BOOST_TEST(message_of(window_with_run_times({1000, 0, 0}), {400, 0, 0}) ==
             "samples represent 4.00 of 1.00 s of run time");
}

BOOST_AUTO_TEST_CASE(does_not_mention_unknown_run_time) {
  Snapshot before = snapshot_at(10, {{7, 5}});
  auto window = make_window(before, snapshot_at(20, {{7, 5}}), {});
  BOOST_REQUIRE(window);
  BOOST_TEST(message_of(std::move(*window), {100}) == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::run_time_coverage_test
