// Options with an amount in a range, such as a length of time or a size.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "tools/ctprof/options/option_values.hpp"

namespace ctprof::cli {

struct Range {
  std::uint64_t min, max;   // inclusive
  const char* description;  // describes the range to users: "a time from 1s to 1h"
};

// Parses an amount. Returns 0 if the text is invalid.
using ReadAmount = std::uint64_t (*)(std::string_view text);

// Stores the last specified amount, if there is one. The error describes the valid range.
template <class Number>
Result<void> read_amount(const OptionValues& values, const char* name, const Range& range,
                         ReadAmount read, Number& out) {
  if (!has_option(values, name)) return {};
  const std::string& text = last_value(values, name);
  const std::uint64_t amount = read(text);
  if (amount < range.min || amount > range.max)
    return Error{"--" + std::string(name) + ": '" + text + "' is not " + range.description};
  out = static_cast<Number>(amount);
  return {};
}

}  // namespace ctprof::cli
