// Tests recorders that exceed the memory, pass invalid records, or throw. Records are dropped or
// the recorder is stopped; earlier records remain.

#include <boost/test/unit_test.hpp>

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/capture/recorder_notes.hpp"
#include "tests/unit/capture/test_recorder.hpp"

namespace invalid_records_test {
using namespace ctprof;
using namespace ctprof::hand_made;
using namespace ctprof::test_recorder;

BOOST_AUTO_TEST_SUITE(invalid_records_test)

// The stack pointer and the size of the stack are arbitrary.
BOOST_FIXTURE_TEST_CASE(drops_and_counts_records_beyond_the_memory_limit, RecorderFixture) {
  std::vector<std::uint8_t> memory(8192);
  std::uint32_t seed = 1;
  const RecorderResult recorded = drain_once(
      [&](const sdk::Records& to) {
        for (int i = 0; i < 4000; ++i) {
          for (auto& byte : memory)
            byte = static_cast<std::uint8_t>((seed = seed * 69069 + 1) >> 24);
          sdk::Record record(1, 1, 1);
          record.set_user_copy(0, 0x7000, 0, 0, memory);
          to.put(record);
        }
      },
      {.memory_bytes = 4 << 20});
  BOOST_TEST(recorded.failure == "");
  BOOST_TEST(recorded.stack_records + recorded.dropped_for_memory == 4000);
  BOOST_TEST(recorded.stack_records > 300);
  BOOST_TEST(recorded.dropped_for_memory > 3000);
  BOOST_TEST(recorded.records.bytes() < std::size_t{5} << 20);
  BOOST_TEST(contains(describe_recorder(recorded, {}), "dropped for lack of memory"));
}

BOOST_FIXTURE_TEST_CASE(stops_recorders_with_invalid_records_and_keeps_earlier_records,
                        RecorderFixture) {
  const auto failure_of = [this](std::function<void(sdk::Record&)> corrupt) {
    const RecorderResult recorded = drain_once([&](const sdk::Records& to) {
      to.put(sdk::Record(1, 1, 1));
      sdk::Record record(1, 1, 1);
      corrupt(record);
      to.put(record);
      to.put(sdk::Record(1, 1, 1));
    });
    BOOST_TEST(recorded.stack_records == 1);
    return recorded.failure;
  };
  const auto check_failure = [&](std::function<void(sdk::Record&)> corrupt,
                                 std::string_view sentence) {
    const std::string failed = failure_of(std::move(corrupt));
    BOOST_TEST(contains(failed, sentence), failed);
  };
  check_failure([](auto& r) { r.size = 8; }, "too small");
  check_failure([](auto& r) { r.offer = 3; }, "of offer 3, which was not requested");
  check_failure([](auto& r) { r.offer = 2, r.element = CTPROF_HISTOGRAM_BUCKETS; },
                "of bucket 96, which no histogram has");
  check_failure([](auto& r) { r.tid = 0; }, "of the invalid thread 1/0");
  check_failure([](auto& r) { r.tgid = UINT64_MAX; }, "of the invalid thread");
  check_failure([](auto& r) { r.user_kind = 4; }, "of the unknown kind 4");
  static const std::uint64_t frame = std::uint64_t{1} << CTPROF_FRAME_TABLE_SHIFT;
  check_failure(
      [](auto& r) { r.user_kind = CTPROF_USER_FRAMES, r.user = &frame, r.user_count = 1; },
      "with a frame of an unwind table that does not exist");
  check_failure([](auto& r) { r.kernel_count = 1; }, "with NULL instead of a stack");
  check_failure([](auto& r) { r.user_kind = CTPROF_USER_ADDRESSES, r.user_count = 1; },
                "with NULL");
  check_failure([](auto& r) { r.user_kind = CTPROF_USER_COPY, r.stack_size = 1; }, "with NULL");
  check_failure([](auto& r) { r.kernel_count = UINT32_MAX; }, "with more than 2048 addresses");
  check_failure([](auto& r) { r.user_kind = CTPROF_USER_COPY, r.stack_size = UINT64_MAX; },
                "with more than 262144 bytes of stack");
}

BOOST_FIXTURE_TEST_CASE(stops_recorders_with_invalid_changes_or_losses, RecorderFixture) {
  const auto failure_of = [this](std::function<void(const sdk::Records&)> drain) {
    return drain_once(std::move(drain)).failure;
  };
  BOOST_TEST(contains(failure_of([](const auto& to) { to.put(make_change(9, 1)); }),
                      "a mapping change of the unknown kind 9"));
  BOOST_TEST(
      contains(failure_of([](const auto& to) { to.put(make_change(CTPROF_CHANGE_ENDED, 0)); }),
               "invalid process 0"));
  BOOST_TEST(contains(failure_of([](const auto& to) {
                        to.put(make_change(CTPROF_CHANGE_MAPPED, 1, {nullptr, 4}));
                      }),
                      "with NULL instead of a path"));
  BOOST_TEST(contains(failure_of([](const auto& to) {
                        to.put(make_change(CTPROF_CHANGE_MAPPED, 1, {"", SIZE_MAX}));
                      }),
                      "with a path of more than 4096 bytes"));
  BOOST_TEST(
      contains(failure_of([](const auto& to) { to.lose(make_loss(CTPROF_LOSS_FULL, 0, 2, 1, 0)); }),
               "whose end precedes its start"));
}

BOOST_FIXTURE_TEST_CASE(stops_recorders_that_throw, RecorderFixture) {
  const auto all = records();
  TestRecorder::on_start = [](const sdk::Window&) { throw std::runtime_error("no permission"); };
  const auto started = all->start();
  BOOST_REQUIRE(!started);
  BOOST_TEST(started.error().text == "starting the recorder 'small': no permission");
  all->drain();
  all->stop();
  BOOST_TEST((TestRecorder::drains == 0 && TestRecorder::stops == 0));
  TestRecorder::on_start = nullptr;
  const RecorderResult recorded =
      drain_once([](const sdk::Records&) { throw std::runtime_error("cannot read"); });
  BOOST_TEST(recorded.failure == "cannot read");
  BOOST_TEST(contains(describe_recorder(recorded, {}), "then it failed: cannot read"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace invalid_records_test
