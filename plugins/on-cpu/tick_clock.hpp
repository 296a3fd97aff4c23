// The period of a CPU's sampling clock, which varies so that no program can run in step with it,
// and the time that each tick represents.
//
// A loop that sleeps and works at the sampling frequency would otherwise always be sampled at the
// same place, or never. A new period is drawn after kMinTicksPerPeriod ticks, but not more often
// than every kMinNsPerPeriod, between 2 and 4 percent above or below the nominal one. Therefore the
// phase of such a loop moves by more than half a period before the next change. The mean of the
// periods is the nominal one.
//
// The kernel restarts the clock when its period changes. The first tick afterwards represents the
// time since the previous tick, so that weights add up to the sampled time.
//
// Threads: one at a time.

#pragma once

#include <cstdint>
#include <deque>
#include <random>

namespace ctprof::on_cpu {

class TickClock {
 public:
  static constexpr std::uint64_t kMinTicksPerPeriod = 32;
  // A change interrupts the CPU, and costs ctprof as much as reading ten samples.
  static constexpr std::uint64_t kMinNsPerPeriod = 100'000'000;
  // Range of the deviation from the nominal period, in thousandths.
  static constexpr std::int64_t kMinDeviation = 20, kMaxDeviation = 40;

  explicit TickClock(std::uint64_t period_ns, std::uint32_t seed = 0)
      : nominal_ns_(period_ns), period_ns_(period_ns), random_(seed) {}

  // Returns the time that the next tick represents. REQUIRES: calls are in the order of time.
  std::uint64_t compute_tick_weight(std::uint64_t time_ns);
  // Returns whether the current period was used long enough.
  bool is_period_due() const { return changes_.empty() && ticks_ >= min_ticks_; }
  // Draws another period; it takes effect when set_period() is called.
  std::uint64_t draw_period();
  // The kernel restarted the clock with that period. Earlier ticks may still arrive.
  void set_period(std::uint64_t at_ns, std::uint64_t period_ns);

 private:
  struct Change {
    std::uint64_t at_ns, period_ns;
  };

  std::uint64_t nominal_ns_;
  // Ticks until the next change. The first one is early, because the first period is the nominal
  // one.
  std::uint64_t min_ticks_ = kMinTicksPerPeriod;
  std::uint64_t period_ns_;
  std::uint64_t last_ns_ = 0;   // of the last tick; 0: there was none
  std::uint64_t ticks_ = 0;     // since the last change
  std::deque<Change> changes_;  // after the last tick
  std::minstd_rand random_;
};

}  // namespace ctprof::on_cpu
