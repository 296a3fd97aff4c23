// Sums of the increases of counters over consecutive windows.
//
// A series that has no value in a window is dropped, because its increase is unknown. If it
// returns, it starts again at zero with a new start time, which readers recognize as a reset. So
// memory is limited by one window.

#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "ctprof/output.h"

namespace ctprof::otlp {

struct Total {
  std::uint64_t start_ns = 0;
  ctprof_number value{};
};

class Totals {
 public:
  // Begins a window. Drops all series if windows are missing before it.
  void begin(const ctprof_output_window& window);
  // Adds the increase in the window to a series and returns its total. Integers stay exact until
  // they exceed 64 bits. REQUIRES: the increase is a number; called once per series and window.
  Total add(const std::string& series, const ctprof_number& increase);

 private:
  std::uint64_t window_start_ns_ = 0;
  std::unordered_map<std::string, Total> previous_, current_;  // by series
};

}  // namespace ctprof::otlp
