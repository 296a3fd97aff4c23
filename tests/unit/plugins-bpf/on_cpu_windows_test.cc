// Tests losses of on-cpu at the ends of windows, with a synthetic kernel.

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <memory>

#include "plugins/on-cpu/sampler.hpp"
#include "tests/unit/plugins-bpf/test_perf_events.hpp"

namespace on_cpu_windows_test {
using namespace test_perf_events;

namespace {

constexpr std::uint64_t kMs = 1'000'000;

// Samples at 100 Hz; the CPU is idle unless the test sets otherwise.
struct SamplerFixture {
  SamplerFixture()
      : sampler(std::make_unique<TestInput>(kernel),
                {.frequency_hz = 100, .stack_bytes = 0, .counts_lost = true}, 1 << 16) {
    sampler.start();
  }

  void pass(std::uint64_t ms) {
    kernel.now_ns += ms * kMs;
    kernel.idle_ns += ms * kMs;
  }
  void drain() { sampler.drain(sdk::Records(target.table)); }
  void end_window() {
    sampler.end_window();
    drain();
  }
  void write_sample() { kernel.write(make_sample(kernel.now_ns, {kKernelContext, 0x10})); }
  void write_lost(std::uint64_t count) {
    RecordBuilder record(PERF_RECORD_LOST);
    record.words({1, count}).thread(7, 7).put(kernel.now_ns);
    kernel.write(std::move(record));
  }
  void write_throttling(std::uint32_t type) {
    RecordBuilder record(type);
    record.words({kernel.now_ns, 1, 1}).thread(7, 7).put(kernel.now_ns);
    kernel.write(std::move(record));
  }

  TestKernel kernel;
  Sampler sampler;
  RecordTarget target;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(on_cpu_windows_test)

BOOST_FIXTURE_TEST_CASE(counts_losses_of_a_full_ring_in_the_ending_window, SamplerFixture) {
  write_sample();
  const std::uint64_t last = kernel.now_ns;
  pass(50);
  drain();
  kernel.counts.lost = 12;  // no record yet, as the ring is full
  pass(30);
  end_window();
  BOOST_REQUIRE_EQUAL(target.losses.size(), 1u);
  BOOST_TEST(target.losses[0].count == 12u);
  BOOST_TEST(target.losses[0].from_ns == last);
  BOOST_TEST(target.losses[0].until_ns == kernel.now_ns);
  BOOST_TEST(target.table.lost == 12u);

  kernel.counts.lost = 15;
  pass(1);
  write_lost(15);  // these 12 and three more
  write_sample();
  pass(5);
  drain();
  BOOST_REQUIRE_EQUAL(target.losses.size(), 2u);
  BOOST_TEST(target.losses[1].count == 3u);
  BOOST_TEST(target.table.lost == 15u);
  sampler.stop();
  drain();
  BOOST_TEST(target.table.lost == 15u);
}

BOOST_FIXTURE_TEST_CASE(a_late_loss_record_is_not_counted_twice, SamplerFixture) {
  kernel.counts.lost = 4;
  pass(10);
  end_window();
  write_lost(4);
  pass(10);
  drain();
  BOOST_TEST(target.losses.size() == 1u);
  BOOST_TEST(target.table.lost == 4u);
}

BOOST_FIXTURE_TEST_CASE(divides_throttled_time_at_the_end_of_a_window, SamplerFixture) {
  write_throttling(PERF_RECORD_THROTTLE);
  pass(100);
  end_window();
  BOOST_REQUIRE_EQUAL(target.losses.size(), 1u);
  BOOST_TEST(target.losses[0].kind == static_cast<ctprof_loss_kind>(CTPROF_LOSS_THROTTLED));
  BOOST_TEST(target.losses[0].count == 10u);
  pass(50);
  write_throttling(PERF_RECORD_UNTHROTTLE);
  pass(5);
  drain();
  BOOST_REQUIRE_EQUAL(target.losses.size(), 2u);
  BOOST_TEST(target.losses[1].from_ns == target.losses[0].until_ns);
  BOOST_TEST(target.losses[1].count == 5u);
}

BOOST_FIXTURE_TEST_CASE(divides_offline_time_at_the_end_of_a_window, SamplerFixture) {
  write_sample();
  kernel.online.clear();
  pass(300);
  drain();  // detects that it is offline
  pass(200);
  end_window();
  BOOST_REQUIRE_EQUAL(target.losses.size(), 1u);
  BOOST_TEST(target.losses[0].kind == static_cast<ctprof_loss_kind>(CTPROF_LOSS_OFFLINE));
  BOOST_TEST(target.losses[0].count == 50u);
  kernel.online = {0};
  pass(300);
  drain();
  BOOST_REQUIRE_EQUAL(target.losses.size(), 2u);
  BOOST_TEST(target.losses[1].from_ns == target.losses[0].until_ns);
  BOOST_TEST(target.losses[1].count == 30u);
}

BOOST_FIXTURE_TEST_CASE(an_end_without_losses_reports_none, SamplerFixture) {
  write_sample();
  pass(500);
  end_window();
  pass(1);
  end_window();
  BOOST_TEST(target.losses.empty());
  BOOST_TEST(target.table.unseen == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace on_cpu_windows_test
