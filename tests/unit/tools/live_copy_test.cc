// Tests that a copy of a window gives the same file, cell by cell, and the same differences.

#include <array>
#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>

#include "core/file/capture_file.hpp"
#include "core/file/file.hpp"
#include "core/snapshot/file_extras.hpp"
#include "core/window/differences.hpp"
#include "tests/unit/support/idle_host.hpp"
#include "tests/unit/support/random_window.hpp"
#include "tests/unit/support/test_snapshots.hpp"
#include "tools/ctprof/live/window_copy.hpp"

namespace ctprof::tests::live_copy_test {
namespace {

constexpr std::uint64_t kWindows = 40;

// Returns a window with columns of every storage, without members that only files have.
Snapshot captured_window(std::uint64_t seed) {
  Snapshot window = random_window(seed);
  window.extras->unknown_keys = {};
  window.extras->unknown_meta = window.extras->unknown_summary_meta =
      window.extras->unknown_window = {};
  window.extras->unknown_definitions = {};
  window.extras->unknown_lines = {};
  return window;
}

// Returns such a window without stacks.
Snapshot shown_window(std::uint64_t seed) {
  Snapshot window = captured_window(seed);
  for (Table& table : window.tables)
    std::erase_if(table.columns,
                  [](const Column& column) { return column.def().storage == Storage::Stacks; });
  return window;
}

std::string file_of(const Snapshot& window) {
  auto bytes = serialize_block(window, 1);
  BOOST_REQUIRE_MESSAGE(bytes, bytes.error().text);
  return std::move(*bytes);
}

BOOST_AUTO_TEST_SUITE(live_copy_test)

BOOST_AUTO_TEST_CASE(a_copy_gives_the_same_file) {
  for (std::uint64_t seed = 1; seed <= kWindows; ++seed) {
    const Snapshot window = shown_window(seed);
    const auto copy = live::copy_window(window);
    BOOST_REQUIRE(copy);
    BOOST_TEST((file_of(*copy) == file_of(window)), "seed " << seed);
  }
}

BOOST_AUTO_TEST_CASE(computing_differences_of_a_copy_does_not_change_the_window) {
  const Snapshot window = shown_window(7);
  const std::string before = file_of(window);
  auto copy = live::copy_window(window);
  convert_to_differences(*copy);
  BOOST_TEST((file_of(window) == before));
}

BOOST_AUTO_TEST_CASE(stacks_are_not_copied) {
  Snapshot window = shown_window(3);
  window.threads().add(hand_made::metric("sleeping_stacks", "StackCount", "StackSum"),
                       Gap::NotApplicable);
  BOOST_TEST(!live::copy_window(window));
}

// A window with stacks is copied in another way than one without.
BOOST_AUTO_TEST_CASE(copies_of_differences_equal_those_of_the_file) {
  for (std::uint64_t seed = 1; seed <= kWindows; ++seed) {
    const std::array<Snapshot, 2> windows{shown_window(seed), captured_window(seed)};
    for (const Snapshot& window : windows) {
      const std::string file = file_of(window);
      auto expected = CaptureFile(file, {"window"}).load(shipped_vocabulary());
      BOOST_REQUIRE(expected);
      convert_to_differences(*expected);
      const auto copy = live::copy_differences(window, shipped_vocabulary());
      BOOST_REQUIRE_MESSAGE(copy, copy.error().text);
      BOOST_TEST_CONTEXT("seed " << seed) BOOST_TEST(difference(*copy, *expected) == "");
      BOOST_TEST((file_of(window) == file), "seed " << seed);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::tests::live_copy_test
