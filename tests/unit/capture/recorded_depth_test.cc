// Tests the number of frames that are kept of a stack: RecordOptions::depth.

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstdint>
#include <thread>
#include <vector>

#include "tests/unit/capture/own_stack.hpp"
#include "tests/unit/capture/test_recorder.hpp"
#include "tests/unit/capture/test_recording.hpp"

namespace ctprof::recorded_depth_test {
namespace {

using namespace hand_made;

constexpr std::size_t kCalls = 400, kCopied = 400 << 10, kRoom = 500 << 10;

[[gnu::noinline]] void call_and_copy(NamedStack& taken, int calls) {
  if (calls > 0) {
    call_and_copy(taken, calls - 1);
  } else {
    take_stack(taken);
    taken.stack.resize(kCopied);
    copy_bytes(reinterpret_cast<const char*>(taken.registers.sp), taken.stack);
  }
  asm volatile("" ::: "memory");
}

// Copies the stack of a thread that is more than kCalls calls deep.
NamedStack take_deep_stack() {
  NamedStack taken;
  std::thread([&] {
    std::array<char, kRoom> padding;  // keeps stack above the end of the copy
    asm volatile("" ::"r"(padding.data()) : "memory");
    call_and_copy(taken, kCalls);
  }).join();
  return taken;
}

struct KeptFrames {
  std::size_t frames;
  std::uint64_t deep;
};

// Returns what is kept of a record at this depth; 0 selects the default.
KeptFrames keep_frames(const ctprof_record& record, std::size_t depth, Snapshot window) {
  Recording recording(std::move(window));
  if (depth > 0) recording.stacks().limit_depth(depth);
  recording.stacks().add_mappings(kSelf, 1, own_mappings());
  const Mapping of_user{0, 0x1000, 0, {}, ""};
  recording.stacks().add_mappings(7, 1, {&of_user, 1});
  recording.begin();
  recording.stacks().add(record);
  recording.stacks().finish();
  const auto frames = recording.frames(0);
  const StackTally& tally = recording.window().meta.stacks.at(0);
  const bool is_marked = tally.too_deep_stacks + tally.stacks_without_rule > 0;
  return {frames.size() - (is_marked ? 1 : 0),
          tally.too_deep_stacks};  // without the mark [truncated]
}

BOOST_AUTO_TEST_SUITE(recorded_depth_test)

BOOST_AUTO_TEST_CASE(a_copied_stack_has_as_many_frames_as_requested) {
  const NamedStack taken = take_deep_stack();
  const ctprof_record record = set_stack_copy(record_of(kSelf, kSelf, 1), taken);
  for (const std::size_t depth : {1, 5, 127, 300}) {
    const KeptFrames kept = keep_frames(record, depth, window_of_self());
    BOOST_TEST(kept.frames == depth);
    BOOST_TEST(kept.deep == 1u);
  }
  for (const std::size_t depth : {0, 1000}) {  // 0: the default
    const KeptFrames whole = keep_frames(record, depth, window_of_self());
    BOOST_TEST(whole.frames > kCalls);
    BOOST_TEST(whole.deep == 0u);
  }
}

// Three kernel frames and four user frames, which do not reach a root.
BOOST_AUTO_TEST_CASE(kernel_frames_come_first_and_count_towards_the_depth) {
  const std::vector<std::uint64_t> user{0x10, 0x20, 0x30, 0x40}, kernel{1, 2, 3};
  ctprof_record record = with_addresses(record_of(7, 7, 1, 11 * kSecond, 5), user);
  record.kernel = kernel.data();
  record.kernel_count = 3;
  for (const std::size_t depth : {1, 2, 3, 4, 5, 6}) {
    const KeptFrames kept = keep_frames(record, depth, window_with_reused_id());
    BOOST_TEST(kept.frames == depth);
    BOOST_TEST(kept.deep == 1u);
  }
  for (const std::size_t depth : {7, 8, 1000}) {
    const KeptFrames kept = keep_frames(record, depth, window_with_reused_id());
    BOOST_TEST(kept.frames == 7u);
    BOOST_TEST(kept.deep == 0u);
  }
}

BOOST_AUTO_TEST_CASE(a_kernel_thread_as_deep_as_requested_is_complete) {
  const std::vector<std::uint64_t> kernel{1, 2, 3};
  ctprof_record record = record_of(7, 7, 1, 11 * kSecond, 5);
  record.kernel = kernel.data();
  record.kernel_count = 3;
  BOOST_TEST(keep_frames(record, 3, window_with_reused_id()).deep == 0u);
  BOOST_TEST(keep_frames(record, 2, window_with_reused_id()).deep == 1u);
}

BOOST_FIXTURE_TEST_CASE(records_return_the_requested_depth, test_recorder::RecorderFixture) {
  const auto all = records({.max_depth = 300});
  BOOST_TEST(bool(all->start()));
  BOOST_TEST(all->take().max_frames == 300u);
  const auto usual = records();
  BOOST_TEST(bool(usual->start()));
  BOOST_TEST(usual->take().max_frames == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::recorded_depth_test
