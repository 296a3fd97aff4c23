// The options whose value is a fraction, such as 0.05 or 5%: one table for all commands and for
// `fleet`. SignificanceThreshold has their defaults.

#pragma once

#include <string>

#include "core/base/result.hpp"

namespace ctprof::cli {

struct FractionOption {
  const char* name;
  bool may_be_zero;
  double largest;  // in percent, a fraction can exceed 1: 150%
};
inline constexpr FractionOption kAlpha{"alpha", false, 0.5}, kMinShift{"min-shift", true, 100},
    kShift{"shift", false, 100};

inline bool is_in_range(const FractionOption& option, double fraction) {
  return (fraction > 0 || (option.may_be_zero && fraction == 0)) && fraction <= option.largest;
}

// Parses "0.05" or "5%". A number above 1 without % is an error, because its unit is unclear.
Result<double> parse_fraction(const FractionOption& option, const std::string& text);

}  // namespace ctprof::cli
