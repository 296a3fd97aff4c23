// Tests the period of the sampling clock and the time that each tick represents.

#include "plugins/on-cpu/tick_clock.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>

namespace ctprof {
namespace {

using on_cpu::TickClock;

constexpr std::uint64_t kPeriod = 10'000'000, kShortPeriod = 250'000, kStart = 5'000'000'000,
                        kTicks = 4000;

// A CPU whose clock ticks from kStart on. Its period changes between two ticks, as during a drain
// of the rings.
class TickingCpu {
 public:
  explicit TickingCpu(std::uint32_t seed, std::uint64_t period = kPeriod)
      : clock_(period, seed), period_(period) {}

  // Calls visit(time, weight) for each tick.
  template <class Visit>
  void run(Visit visit) {
    std::uint64_t next = kStart;
    for (std::uint64_t tick = 0; tick < kTicks; ++tick) {
      visit(next, clock_.compute_tick_weight(next));
      if (clock_.is_period_due()) {
        const std::uint64_t changed = next + tick * 7919 % period_;
        period_ = clock_.draw_period();
        clock_.set_period(changed, period_);
        next = changed;
        ++changes_;
      }
      next += period_;
    }
  }
  std::uint64_t changes() const { return changes_; }

 private:
  TickClock clock_;
  std::uint64_t period_, changes_ = 0;
};

BOOST_AUTO_TEST_SUITE(tick_clock_test)

BOOST_AUTO_TEST_CASE(weights_add_up_to_the_time_between_ticks) {
  TickingCpu cpu(1);
  std::uint64_t total = 0, last = 0;
  cpu.run([&](std::uint64_t time, std::uint64_t weight) {
    total += weight;
    last = time;
    BOOST_TEST(total == last - kStart + kPeriod);
  });
  BOOST_TEST(cpu.changes() == kTicks / TickClock::kMinTicksPerPeriod);
}

BOOST_AUTO_TEST_CASE(a_loop_at_the_sampling_frequency_gets_its_share_of_samples) {
  for (const std::uint64_t period : {kPeriod, kShortPeriod})
    for (const std::uint64_t phase : {0, 2, 5, 8})
      for (const std::uint32_t seed : {1u, 2u, 3u}) {
        std::uint64_t busy = 0, total = 0;
        TickingCpu(seed, period).run([&](std::uint64_t time, std::uint64_t weight) {
          const std::uint64_t in_loop = (time + phase * period / 10) % period;
          busy += in_loop < period * 3 / 10 ? weight : 0;
          total += weight;
        });
        BOOST_TEST(static_cast<double>(busy) / static_cast<double>(total) == 0.3,
                   boost::test_tools::tolerance(0.1));
      }
}

BOOST_AUTO_TEST_CASE(short_periods_change_ten_times_a_second) {
  TickingCpu cpu(1, kShortPeriod);
  cpu.run([](std::uint64_t, std::uint64_t) {});
  constexpr std::uint64_t kTicksPerChange = TickClock::kMinNsPerPeriod / kShortPeriod;
  BOOST_TEST(cpu.changes() == 1 + (kTicks - TickClock::kMinTicksPerPeriod) / kTicksPerChange);
}

BOOST_AUTO_TEST_CASE(periods_vary_by_2_to_4_percent_around_the_nominal_mean) {
  constexpr int kDrawnPeriods = 10'000;
  TickClock clock(kPeriod, 1);
  double sum = 0;
  for (int i = 0; i < kDrawnPeriods; ++i) {
    const auto period = static_cast<std::int64_t>(clock.draw_period());
    const std::int64_t difference = std::abs(period - static_cast<std::int64_t>(kPeriod));
    BOOST_TEST(difference >= static_cast<std::int64_t>(kPeriod) / 50);
    BOOST_TEST(difference <= static_cast<std::int64_t>(kPeriod) / 25);
    sum += static_cast<double>(period);
  }
  BOOST_TEST(sum / kDrawnPeriods == static_cast<double>(kPeriod),
             boost::test_tools::tolerance(0.001));
}

BOOST_AUTO_TEST_CASE(missed_ticks_add_no_weight) {
  TickClock clock(kPeriod);
  BOOST_TEST(clock.compute_tick_weight(kStart) == kPeriod);
  BOOST_TEST(clock.compute_tick_weight(kStart + 100 * kPeriod) == kPeriod);
  clock.set_period(kStart + 101 * kPeriod, kPeriod + 3);
  BOOST_TEST(clock.compute_tick_weight(kStart + 200 * kPeriod) == 2 * kPeriod + 3);
}

BOOST_AUTO_TEST_CASE(a_tick_before_a_change_has_the_old_period) {
  TickClock clock(kPeriod);
  BOOST_TEST(clock.compute_tick_weight(kStart) == kPeriod);
  clock.set_period(kStart + kPeriod + 5, 2 * kPeriod);
  BOOST_TEST(clock.compute_tick_weight(kStart + kPeriod) == kPeriod);
  BOOST_TEST(clock.compute_tick_weight(kStart + 3 * kPeriod + 5) == 2 * kPeriod + 5);
  BOOST_TEST(clock.compute_tick_weight(kStart + 5 * kPeriod + 5) == 2 * kPeriod);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof
