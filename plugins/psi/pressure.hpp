// Pressure files: a line `some` and a line `full`, each `avg10=0.12 avg60=0.00 avg300=0.00
// total=345`.
//
// Means are in percent with two digits behind the point, and are kept in hundredths of a percent;
// totals are microseconds. Before Linux 5.13 there is no line `full` for the CPU; for interrupts
// there is no other.

#pragma once

#include <cstdint>
#include <string_view>

#include "ctprof/metric.hpp"
#include "ctprof/reading.hpp"

namespace ctprof::psi {

// A line that is missing is Unsupported in all its parts; a part that is missing or no number is
// Malformed.
struct PressureLine {
  sdk::ReadingOf<sdk::GaugeRatio100> avg10 = Gap::Unsupported;
  sdk::ReadingOf<sdk::GaugeRatio100> avg60 = Gap::Unsupported;
  sdk::ReadingOf<sdk::GaugeRatio100> avg300 = Gap::Unsupported;
  sdk::ReadingOf<sdk::MonotonicUs> total_usec = Gap::Unsupported;
};

struct Pressure {
  PressureLine some;
  PressureLine full;
};

Pressure parse_pressure(std::string_view text);

// "12.3" to 1230: hundredths, further digits cut. Malformed also where the file, which has 16 bits
// for it, could not hold it.
sdk::ReadingOf<sdk::GaugeRatio100> hundredths(std::string_view text);

}  // namespace ctprof::psi
