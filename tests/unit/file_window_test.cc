// Windows in files: what was written is read again, and what a hostile file says of one is refused.

#define BOOST_TEST_MODULE file_window
#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>

#include "core/window/happened.hpp"
#include "core/window/make_window.hpp"
#include "tests/unit/column_lines.hpp"

namespace ctprof::tests {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr int kWindows = 40;

Snapshot odd_at(std::uint64_t seed, std::uint64_t second) {
  Snapshot snapshot = OddHost(seed).make();
  snapshot.meta.boot_id = "b";
  snapshot.meta.start.boottime_ns = second * kSecond;
  snapshot.read_at.assign(snapshot.threads().rows, 5);
  return snapshot;
}

// Two odd hosts that have some threads in common, and a third whose threads ended in between.
Snapshot odd_window(std::uint64_t seed) {
  Ended ended;
  ended.rows = odd_at(seed + 2, 15);
  ended.at_ns.assign(ended.rows.threads().rows, 15 * kSecond);
  ended.told = true;
  ended.lost = seed;
  auto made = make_window(odd_at(seed, 10), odd_at(seed + seed % 2, 20), std::move(ended));
  BOOST_REQUIRE_MESSAGE(made.has_value(), made.error().text);
  return std::move(*made);
}

BOOST_AUTO_TEST_CASE(what_was_written_is_read) {
  for (int seed = 0; seed < kWindows; ++seed) {
    Snapshot made = odd_window(static_cast<std::uint64_t>(seed));
    const std::string bytes = written(made);
    Snapshot again = loaded(bytes);
    BOOST_TEST_CONTEXT("seed " << seed) {
      BOOST_TEST(difference(made, again) == "");
      BOOST_TEST((written(again) == bytes), "written again it is another file");
      to_differences(made);
      to_differences(again);
      BOOST_TEST(difference(made, again) == "");
    }
  }
}

BOOST_AUTO_TEST_CASE(a_snapshot_is_no_window) {
  BOOST_TEST(!loaded(written(odd_at(1, 10))).window.has_value());
}

BOOST_AUTO_TEST_CASE(what_is_said_of_a_window_must_hold) {
  Lines lines = lines_of(written(odd_window(3)));
  BOOST_REQUIRE(lines[1].starts_with("{\"kind\":\"window\""));
  Lines without = lines;
  without.erase(without.begin() + 1);
  BOOST_TEST(refusal(folded(counted(without))) ==
             "line 2 is no window, which the header announces");
  Lines many = lines;
  const auto at = many[1].find("\"living\":");
  BOOST_REQUIRE(at != std::string::npos);
  many[1].replace(at, 9, "\"living\":99999");
  BOOST_TEST(refusal(folded(counted(many))) ==
             "the window has more living threads than there are rows");
}

}  // namespace
}  // namespace ctprof::tests
