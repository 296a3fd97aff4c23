// The copy of a window that `ctprof live` shows: the same file comes of it, cell by cell.

#define BOOST_TEST_MODULE live_copy
#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>

#include "core/file/file.hpp"
#include "core/window/happened.hpp"
#include "core/window/make_window.hpp"
#include "tests/unit/hand_made.hpp"
#include "tests/unit/odd_host.hpp"
#include "tools/ctprof/live/copy.hpp"

namespace ctprof::tests {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kWindows = 40;

Snapshot odd_at(std::uint64_t seed, std::uint64_t second) {
  Snapshot snapshot = OddHost(seed).make();
  snapshot.meta.boot_id = "b";
  snapshot.meta.start.boottime_ns = second * kSecond;
  snapshot.read_at.assign(snapshot.threads().rows, 5);
  return snapshot;
}

// Two odd hosts that have some threads in common, and a third whose threads ended in between; of
// every storage but stacks.
Snapshot odd_window(std::uint64_t seed) {
  Ended ended;
  ended.rows = odd_at(seed + 2, 15);
  ended.at_ns.assign(ended.rows.threads().rows, 15 * kSecond);
  ended.told = true;
  ended.lost = seed;
  auto made = make_window(odd_at(seed, 10), odd_at(seed + seed % 2, 20), std::move(ended));
  BOOST_REQUIRE_MESSAGE(made.has_value(), made.error().text);
  for (Table& table : made->tables)
    std::erase_if(table.columns,
                  [](const Column& column) { return column.def().storage == Storage::Stacks; });
  // What only files have.
  made->unknown_keys = {};
  made->unknown_meta = made->unknown_late_meta = made->unknown_window = {};
  made->unknown_definitions = {};
  made->unknown_lines = {};
  return std::move(*made);
}

std::string file_of(const Snapshot& window) {
  auto bytes = block_of(window, 1);
  BOOST_REQUIRE_MESSAGE(bytes, bytes.error().text);
  return std::move(*bytes);
}

BOOST_AUTO_TEST_CASE(a_copy_makes_the_same_file) {
  for (std::uint64_t seed = 1; seed <= kWindows; ++seed) {
    const Snapshot window = odd_window(seed);
    const auto copy = live::copy_of(window);
    BOOST_REQUIRE(copy);
    BOOST_TEST((file_of(*copy) == file_of(window)), "seed " << seed);
  }
}

BOOST_AUTO_TEST_CASE(differences_of_a_copy_leave_the_window_alone) {
  const Snapshot window = odd_window(7);
  const std::string before = file_of(window);
  auto copy = live::copy_of(window);
  to_differences(*copy);
  BOOST_TEST((file_of(window) == before));
}

BOOST_AUTO_TEST_CASE(stacks_are_not_copied) {
  Snapshot window = odd_window(3);
  window.threads().add(hand_made::metric("sleeping_stacks", "StackCount", "StackSum"),
                       Gap::NotApplicable);
  BOOST_TEST(!live::copy_of(window));
}

}  // namespace
}  // namespace ctprof::tests
