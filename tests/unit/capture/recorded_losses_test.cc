// Tests which losses of a recorder belong to a window, and how they print.

#include "core/capture/recorded_losses.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <string>

#include "core/capture/recorder_notes.hpp"
#include "tests/unit/capture/test_recorder.hpp"

namespace recorded_losses_test {
using namespace ctprof;
using test_recorder::contains;
using test_recorder::make_loss;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// Losses before, across and after the start of a window that opens at second 10.
RecorderResult recorded_with_losses() {
  RecorderResult recorded(1024);
  recorded.losses = {make_loss(CTPROF_LOSS_FULL, 0, 8 * kSecond, 9 * kSecond, 100),
                     make_loss(CTPROF_LOSS_THROTTLED, 0, 8 * kSecond, 10 * kSecond, 20),
                     make_loss(CTPROF_LOSS_FULL, 1, 9 * kSecond, 11 * kSecond, 7),
                     make_loss(CTPROF_LOSS_FULL, 1, 12 * kSecond, 13 * kSecond, 5)};
  recorded.lost = 112;
  recorded.missed = 23;
  return recorded;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(recorded_losses_test)

BOOST_AUTO_TEST_CASE(drops_losses_before_the_first_window) {
  RecorderResult recorded = recorded_with_losses();
  drop_losses_before(recorded, 10 * kSecond, true);
  BOOST_TEST(recorded.lost == 12u);
  BOOST_TEST(recorded.missed == 3u);
  BOOST_REQUIRE_EQUAL(recorded.losses.size(), 2u);
  BOOST_TEST(recorded.losses[0].from_ns == 10 * kSecond);
  BOOST_TEST(recorded.losses[1].from_ns == 12 * kSecond);
}

// The previous window is finished, so this window counts them.
BOOST_AUTO_TEST_CASE(counts_delayed_losses_without_their_details) {
  RecorderResult recorded = recorded_with_losses();
  drop_losses_before(recorded, 10 * kSecond, false);
  BOOST_TEST(recorded.lost == 112u);
  BOOST_TEST(recorded.missed == 23u);
  BOOST_TEST(recorded.losses.size() == 2u);
}

BOOST_AUTO_TEST_CASE(prints_no_duration_of_zero) {
  RecorderResult recorded = recorded_with_losses();
  drop_losses_before(recorded, 10 * kSecond, true);
  BOOST_TEST(!contains(describe_recorder(recorded, {}), " for 0.0 ms"),
             describe_recorder(recorded, {}));
  recorded.losses = {make_loss(CTPROF_LOSS_FULL, 2, 11 * kSecond, 11 * kSecond + 40'000, 1),
                     make_loss(CTPROF_LOSS_FULL, 3, 12 * kSecond, 12 * kSecond, 1)};
  const std::string words = describe_recorder(recorded, {});
  BOOST_TEST(
      contains(words, "(lost on CPU 2 for 0.040000 ms at 11.000 s, lost on CPU 3 at 12.000 s)"),
      words);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace recorded_losses_test
