#include "plugins/on-cpu/tick_clock.hpp"

#include <algorithm>

namespace ctprof::on_cpu {

// A tick that is later than both periods explain is missed, and is counted as such.
std::uint64_t TickClock::compute_tick_weight(std::uint64_t time_ns) {
  std::uint64_t max_ns = period_ns_, ticks_since_change = ticks_ + 1;
  while (!changes_.empty() && changes_.front().at_ns <= time_ns) {
    max_ns += period_ns_ = changes_.front().period_ns;
    changes_.pop_front();
    ticks_since_change = 1;
  }
  const bool is_first = max_ns != period_ns_ && last_ns_ != 0;
  const std::uint64_t weight =
      is_first ? std::clamp(time_ns - last_ns_, period_ns_, max_ns) : period_ns_;
  ticks_ = ticks_since_change;
  last_ns_ = time_ns;
  return weight;
}

std::uint64_t TickClock::draw_period() {
  const std::int64_t deviation =
      std::uniform_int_distribution(kMinDeviation, kMaxDeviation)(random_);
  const bool is_longer = std::bernoulli_distribution()(random_);
  const auto nominal = static_cast<std::int64_t>(nominal_ns_);
  return static_cast<std::uint64_t>(nominal +
                                    nominal * (is_longer ? deviation : -deviation) / 1000);
}

void TickClock::set_period(std::uint64_t at_ns, std::uint64_t period_ns) {
  changes_.push_back({at_ns, period_ns});
  min_ticks_ = std::max(kMinTicksPerPeriod, kMinNsPerPeriod / nominal_ns_);
}

}  // namespace ctprof::on_cpu
