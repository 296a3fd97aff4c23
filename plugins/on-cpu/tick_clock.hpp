// The period of a CPU's sampling clock, which varies so that no program can run in step with it,
// and the time that each tick represents.
//
// A loop that sleeps and works at the sampling frequency would otherwise be sampled always at the
// same place, or never. The period is drawn anew after kTicksOfPeriod ticks, between 2 and 4 per
// cent above or below the nominal one, so that the phase of such a loop moves through more than
// half a period before the next change. The mean of the periods is the nominal one.
//
// The kernel restarts the clock when its period changes. The first tick afterwards represents the
// time since the last tick before, so that weights add up to the time that was sampled.
//
// Threads: one at a time.

#pragma once

#include <cstdint>
#include <deque>
#include <random>

namespace ctprof::on_cpu {

class TickClock {
 public:
  static constexpr std::uint64_t kTicksOfPeriod = 32;
  // Of the deviation from the nominal period, in parts of a thousand.
  static constexpr std::int64_t kLeastDeviation = 20, kLargestDeviation = 40;

  explicit TickClock(std::uint64_t period_ns, std::uint32_t seed = 0)
      : nominal_ns_(period_ns), period_ns_(period_ns), random_(seed) {}

  // The time that the next tick represents. REQUIRES: in order of time.
  std::uint64_t weight_of_tick(std::uint64_t time_ns);
  // Whether the present period was used for long enough.
  bool is_due() const { return changes_.empty() && ticks_ >= kTicksOfPeriod; }
  // Another period; the clock has it once changed() is called.
  std::uint64_t draw_period();
  // The kernel restarted the clock with that period. Ticks before this moment may be yet to come.
  void changed(std::uint64_t at_ns, std::uint64_t period_ns);

 private:
  struct Change {
    std::uint64_t at_ns, period_ns;
  };

  std::uint64_t nominal_ns_;
  std::uint64_t period_ns_;
  std::uint64_t last_ns_ = 0;   // of the last tick; 0: there was none
  std::uint64_t ticks_ = 0;     // since the last change
  std::deque<Change> changes_;  // after the last tick
  std::minstd_rand random_;
};

}  // namespace ctprof::on_cpu
