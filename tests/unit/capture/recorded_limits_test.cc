// Tests the effect of work limits and interrupts on recorded stacks, and the notes about them.

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/clock.hpp"
#include "core/capture/recorded_stacks.hpp"
#include "tests/unit/capture/own_stack.hpp"
#include "tests/unit/capture/test_recording.hpp"
#include "tests/unit/support/named_stacks.hpp"

namespace ctprof::recorded_limits_test {
namespace {

using namespace hand_made;

BOOST_AUTO_TEST_SUITE(recorded_limits_test)

// The stack contains the frames up to the limit, and a note names the file.
BOOST_AUTO_TEST_CASE(reports_a_file_that_exceeds_the_limits_on_work) {
  const NamedStack taken = take_stack_of_thread();
  Recording recording(window_of_self(), {}, {.steps_per_file = 1, .assured_steps_per_process = 0});
  recording.stacks().add_mappings(kSelf, boottime_ns(), own_mappings());
  recording.begin();
  for (int i = 0; i < 3; ++i)
    recording.stacks().add(set_stack_copy(record_of(kSelf, kSelf, 10), taken));
  recording.stacks().finish();
  BOOST_TEST(recording.frames(0).size() == 2u);  // with "[truncated]"
  BOOST_TEST(recording.window().meta.stacks.at(0).stacks_without_rule == 3u);
  BOOST_TEST(recording.window().meta.notes ==
             std::vector{"cannot unwind all stacks in '" +
                         std::filesystem::canonical("/proc/self/exe").string() +
                         "': call frame information exceeds the work limit of one run at 1 "
                         "place"});
}

// A first signal stops the work. A note reports that, and finished results are kept.
BOOST_AUTO_TEST_CASE(keeps_what_is_known_when_it_is_interrupted) {
  const NamedStack taken = take_stack_of_thread();
  Recording recording(window_of_self());
  recording.stacks().add_mappings(kSelf, boottime_ns(), own_mappings());
  recording.begin();
  recording.stacks().add(set_stack_copy(record_of(kSelf, kSelf, 10), taken));
  const std::atomic<bool> stop{true};
  recording.stacks().finish({.stop = &stop});
  BOOST_TEST(recording.frames(0).size() > 3u);
  BOOST_TEST(recording.row_text(0).find("outer_work") == std::string::npos);
  BOOST_REQUIRE(recording.window().meta.notes.size() == 1u);
  BOOST_TEST(recording.window().meta.notes[0].starts_with("interrupted while stacks"));
}

BOOST_AUTO_TEST_CASE(stops_unwinding_when_it_is_interrupted) {
  const NamedStack taken = take_stack_of_thread();
  Recording recording(window_of_self());
  recording.stacks().add_mappings(kSelf, boottime_ns(), own_mappings());
  recording.begin();
  recording.stacks().interrupt();
  recording.stacks().add(set_stack_copy(record_of(kSelf, kSelf, 10), taken));
  recording.stacks().finish();
  BOOST_TEST(recording.frames(0).size() == 2u);  // with "[truncated]"
  BOOST_TEST(recording.window().meta.notes.size() == 1u);
}

// The signal that ended the window does not stop the processing after it.
BOOST_AUTO_TEST_CASE(names_functions_of_a_window_that_a_signal_ended) {
  const std::atomic<bool> stop{true};
  for (const bool is_before : {false, true}) BOOST_TEST_CONTEXT(is_before) {
      Snapshot window = window_of_self();
      RecordedWindow recorded;
      recorded.code.push_back({kSelf, boottime_ns(), own_mappings()});
      RecorderResult& one = recorded.recorders.emplace_back(std::size_t{1} << 20);
      one.plugin = "test";
      one.source = "tests";
      one.metrics = {kStacks};
      const std::vector<std::uint64_t> addresses{reinterpret_cast<std::uint64_t>(&outer_work)};
      one.records.add(with_addresses(record_of(kSelf, kSelf, 10), addresses));
      put_stacks(recorded, proc().get(), window, {}, {.stop = is_before ? &stop : nullptr});
      BOOST_TEST(stacks_of(window, *window.threads().find(kStacks.name), 0).find("outer_work") !=
                 std::string::npos);
    }
}

// Each child copies the mappings of its parent, so without a limit forks could use any amount of
// memory.
BOOST_AUTO_TEST_CASE(keeps_the_mappings_of_a_bounded_number_of_forks) {
  std::vector<Mapping> mappings;
  constexpr std::uint64_t kMappings = 16'384, kMostRanges = 4 << 20;
  for (std::uint64_t i = 0; i < kMappings; ++i)
    mappings.push_back({i * 0x2000 + 0x1000, i * 0x2000 + 0x2000, 0, {1, 2}, "/bin/made"});
  Recording recording;
  recording.stacks().add_mappings(7, 1, mappings);
  recording.begin();
  constexpr std::uint64_t kForks = 2 * kMostRanges / kMappings;
  for (std::uint64_t i = 0; i < kForks; ++i) {
    ctprof_change change{};
    change.size = sizeof change;
    change.kind = CTPROF_CHANGE_FORKED;
    change.tgid = 100 + i;
    change.parent = 7;
    change.at_ns = 2 + i;
    recording.stacks().add(change);
  }
  recording.stacks().finish();
  // One of the copies belongs to the first of several recorders.
  BOOST_TEST(recording.window().meta.notes ==
             std::vector{"cannot keep the mappings of " +
                         std::to_string(kForks - kMostRanges / kMappings + 1) +
                         " processes: they have too many; their stacks have no names"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::recorded_limits_test
