// Random numbers for simulated comparisons, equal on every host and with every library. The
// generator of the standard library is specified exactly, but its distributions are not.

#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

namespace ctprof::simulated {

class Random {
 public:
  double uniform() { return static_cast<double>(generator_() >> 11) * 0x1p-53; }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  // Returns a value of Student's t distribution with 3 degrees of freedom.
  double student_t() {
    double squares = 0;
    for (int at = 0; at < 3; ++at) squares += std::pow(normal(), 2);
    return normal() / std::sqrt(squares / 3);
  }
  // Returns the number of events for an expected number.
  double poisson(double expected) {
    if (expected > 50) return std::max(0.0, std::round(expected + std::sqrt(expected) * normal()));
    double events = 0;
    for (double left = std::exp(-expected), product = uniform(); product > left; ++events)
      product *= uniform();
    return events;
  }

 private:
  std::mt19937_64 generator_{7};
};

}  // namespace ctprof::simulated
