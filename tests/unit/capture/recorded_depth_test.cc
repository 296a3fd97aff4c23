// Tests the number of frames that are kept of a stack: RecordOptions::depth.

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstdint>
#include <thread>
#include <vector>

#include "tests/unit/capture/made_recorder.hpp"
#include "tests/unit/capture/made_recording.hpp"
#include "tests/unit/capture/own_stack.hpp"

namespace ctprof::recorded_depth_test {
namespace {

using namespace hand_made;

constexpr std::size_t kCalls = 400, kCopied = 400 << 10, kRoom = 500 << 10;

[[gnu::noinline]] void take_copy(Taken& taken, int calls) {
  if (calls > 0) {
    take_copy(taken, calls - 1);
  } else {
    take_stack(taken);
    taken.stack.resize(kCopied);
    copy_out(reinterpret_cast<const char*>(taken.at.sp), taken.stack);
  }
  asm volatile("" ::: "memory");
}

// Copies the stack of a thread that is more than kCalls calls deep.
Taken taken_deep() {
  Taken taken;
  std::thread([&] {
    std::array<char, kRoom> room;  // keeps stack above the end of the copy
    asm volatile("" ::"r"(room.data()) : "memory");
    take_copy(taken, kCalls);
  }).join();
  return taken;
}

struct Kept {
  std::size_t frames;
  std::uint64_t deep;
};

// Returns what is kept of a record at this depth; 0 selects the default.
Kept kept_of(const ctprof_record& record, std::size_t depth, Snapshot window) {
  Recording recording(std::move(window));
  if (depth > 0) recording.stacks().limit_depth(depth);
  recording.stacks().mapped(kSelf, 1, own_mappings());
  const Mapping of_user{0, 0x1000, 0, {}, ""};
  recording.stacks().mapped(7, 1, {&of_user, 1});
  recording.begin();
  recording.stacks().take(record);
  recording.stacks().finish();
  const auto frames = recording.frames(0);
  const StackTally& tally = recording.window().meta.stacks.at(0);
  const bool is_marked = tally.deep + tally.lost > 0;
  return {frames.size() - (is_marked ? 1 : 0), tally.deep};  // without the mark [truncated]
}

BOOST_AUTO_TEST_SUITE(recorded_depth_test)

BOOST_AUTO_TEST_CASE(a_copied_stack_has_as_many_frames_as_requested) {
  const Taken taken = taken_deep();
  const ctprof_record record = with_copy(record_of(kSelf, kSelf, 1), taken);
  for (const std::size_t depth : {1, 5, 127, 300}) {
    const Kept kept = kept_of(record, depth, window_of_self());
    BOOST_TEST(kept.frames == depth);
    BOOST_TEST(kept.deep == 1u);
  }
  BOOST_TEST(kept_of(record, 0, window_of_self()).frames == 127u);
  const Kept whole = kept_of(record, 1000, window_of_self());
  BOOST_TEST(whole.frames > kCalls);
  BOOST_TEST(whole.deep == 0u);
}

// Three kernel frames and four user frames, which do not reach a root.
BOOST_AUTO_TEST_CASE(kernel_frames_come_first_and_count_towards_the_depth) {
  const std::vector<std::uint64_t> user{0x10, 0x20, 0x30, 0x40}, kernel{1, 2, 3};
  ctprof_record record = with_addresses(record_of(7, 7, 1, 11 * kSecond, 5), user);
  record.kernel = kernel.data();
  record.kernel_count = 3;
  for (const std::size_t depth : {1, 2, 3, 4, 5, 6}) {
    const Kept kept = kept_of(record, depth, made_window());
    BOOST_TEST(kept.frames == depth);
    BOOST_TEST(kept.deep == 1u);
  }
  for (const std::size_t depth : {7, 8, 1000}) {
    const Kept kept = kept_of(record, depth, made_window());
    BOOST_TEST(kept.frames == 7u);
    BOOST_TEST(kept.deep == 0u);
  }
}

BOOST_AUTO_TEST_CASE(a_kernel_thread_as_deep_as_requested_is_complete) {
  const std::vector<std::uint64_t> kernel{1, 2, 3};
  ctprof_record record = record_of(7, 7, 1, 11 * kSecond, 5);
  record.kernel = kernel.data();
  record.kernel_count = 3;
  BOOST_TEST(kept_of(record, 3, made_window()).deep == 0u);
  BOOST_TEST(kept_of(record, 2, made_window()).deep == 1u);
}

BOOST_FIXTURE_TEST_CASE(records_return_the_requested_depth, made_recorder::World) {
  const auto all = records({.depth = 300});
  BOOST_TEST(bool(all->start()));
  BOOST_TEST(all->take().depth == 300u);
  const auto usual = records();
  BOOST_TEST(bool(usual->start()));
  BOOST_TEST(usual->take().depth == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::recorded_depth_test
