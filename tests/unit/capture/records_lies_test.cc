// Tests recorders that exceed the memory, pass invalid records, or throw. Records are dropped or
// the recorder is stopped; earlier records remain.

#include <boost/test/unit_test.hpp>

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/capture/recorded_words.hpp"
#include "tests/unit/capture/made_recorder.hpp"

namespace records_lies_test {
using namespace ctprof;
using namespace ctprof::hand_made;
using namespace ctprof::made_recorder;

BOOST_AUTO_TEST_SUITE(records_lies_test)

// The stack pointer and the size of the stack are arbitrary.
BOOST_FIXTURE_TEST_CASE(drops_and_counts_records_beyond_the_memory_limit, World) {
  std::vector<std::uint8_t> memory(8192);
  std::uint32_t seed = 1;
  const Recorded recorded = drained(
      [&](const sdk::Records& to) {
        for (int i = 0; i < 4000; ++i) {
          for (auto& byte : memory)
            byte = static_cast<std::uint8_t>((seed = seed * 69069 + 1) >> 24);
          sdk::Record record(1, 1, 1);
          record.set_user_copy(0, 0x7000, 0, 0, memory);
          to.put(record);
        }
      },
      {.memory = 4 << 20});
  BOOST_TEST(recorded.failed == "");
  BOOST_TEST(recorded.taken + recorded.no_room == 4000);
  BOOST_TEST(recorded.taken > 300);
  BOOST_TEST(recorded.no_room > 3000);
  BOOST_TEST(recorded.records.bytes() < std::size_t{5} << 20);
  BOOST_TEST(has(in_words(recorded, {}), "dropped for lack of memory"));
}

BOOST_FIXTURE_TEST_CASE(stops_recorders_with_invalid_records_and_keeps_earlier_records, World) {
  const auto failure = [this](std::function<void(sdk::Record&)> lie) {
    const Recorded recorded = drained([&](const sdk::Records& to) {
      to.put(sdk::Record(1, 1, 1));
      sdk::Record record(1, 1, 1);
      lie(record);
      to.put(record);
      to.put(sdk::Record(1, 1, 1));
    });
    BOOST_TEST(recorded.taken == 1);
    return recorded.failed;
  };
  const auto lies = [&](std::function<void(sdk::Record&)> lie, std::string_view sentence) {
    const std::string failed = failure(std::move(lie));
    BOOST_TEST(has(failed, sentence), failed);
  };
  lies([](auto& r) { r.size = 8; }, "too small");
  lies([](auto& r) { r.offer = 2; }, "of offer 2, which was not requested");
  lies([](auto& r) { r.tid = 0; }, "of the impossible thread 1/0");
  lies([](auto& r) { r.tgid = UINT64_MAX; }, "of the impossible thread");
  lies([](auto& r) { r.user_kind = 4; }, "of the unknown kind 4");
  static const std::uint64_t frame = std::uint64_t{1} << CTPROF_FRAME_TABLE_SHIFT;
  lies([](auto& r) { r.user_kind = CTPROF_USER_FRAMES, r.user = &frame, r.user_count = 1; },
       "with a frame of an unwind table that does not exist");
  lies([](auto& r) { r.kernel_count = 1; }, "with NULL where a stack must be");
  lies([](auto& r) { r.user_kind = CTPROF_USER_ADDRESSES, r.user_count = 1; }, "with NULL");
  lies([](auto& r) { r.user_kind = CTPROF_USER_COPY, r.stack_size = 1; }, "with NULL");
  lies([](auto& r) { r.kernel_count = UINT32_MAX; }, "with more than 2048 addresses");
  lies([](auto& r) { r.user_kind = CTPROF_USER_COPY, r.stack_size = UINT64_MAX; },
       "with more than 262144 bytes of stack");
}

BOOST_FIXTURE_TEST_CASE(stops_recorders_with_invalid_changes_or_losses, World) {
  const auto failed = [this](std::function<void(const sdk::Records&)> drain) {
    return drained(std::move(drain)).failed;
  };
  BOOST_TEST(has(failed([](const auto& to) { to.put(change(9, 1)); }),
                 "a mapping change of the unknown kind 9"));
  BOOST_TEST(has(failed([](const auto& to) { to.put(change(CTPROF_CHANGE_ENDED, 0)); }),
                 "impossible process 0"));
  BOOST_TEST(has(failed([](const auto& to) {
                   to.put(change(CTPROF_CHANGE_MAPPED, 1, {nullptr, 4}));
                 }),
                 "with NULL where a path must be"));
  BOOST_TEST(has(failed([](const auto& to) {
                   to.put(change(CTPROF_CHANGE_MAPPED, 1, {"", SIZE_MAX}));
                 }),
                 "with a path of more than 4096 bytes"));
  BOOST_TEST(has(failed([](const auto& to) { to.lose(loss(CTPROF_LOSS_FULL, 0, 2, 1, 0)); }),
                 "whose end precedes its start"));
}

BOOST_FIXTURE_TEST_CASE(stops_recorders_that_throw, World) {
  const auto all = records();
  Small::on_start = [](const sdk::Window&) { throw std::runtime_error("no permission"); };
  const auto started = all->start();
  BOOST_REQUIRE(!started);
  BOOST_TEST(started.error().text == "starting the recorder 'small': no permission");
  all->drain();
  all->stop();
  BOOST_TEST((Small::drains == 0 && Small::stops == 0));
  Small::on_start = nullptr;
  const Recorded recorded =
      drained([](const sdk::Records&) { throw std::runtime_error("cannot read"); });
  BOOST_TEST(recorded.failed == "cannot read");
  BOOST_TEST(has(in_words(recorded, {}), "then it failed: cannot read"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace records_lies_test
