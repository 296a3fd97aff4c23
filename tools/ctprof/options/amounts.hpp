// Options that give an amount, such as a length of time or a size, within a range.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "tools/ctprof/options/option_values.hpp"

namespace ctprof::cli {

struct Range {
  std::uint64_t least, most;  // both may be given
  const char* words;          // that name it, as people write it: "a time from 1s to 1h"
};

// What a text comes to; 0: it is none.
using ReadAmount = std::uint64_t (*)(std::string_view text);

// Stores the amount that stands last, if the option was given. The error says what is wanted.
template <class Number>
Result<void> read_amount(const OptionValues& given, const char* name, const Range& range,
                         ReadAmount read, Number& out) {
  if (!has_option(given, name)) return {};
  const std::string& text = last_value(given, name);
  const std::uint64_t amount = read(text);
  if (amount < range.least || amount > range.most)
    return Error{"--" + std::string(name) + ": '" + text + "' is not " + range.words};
  out = static_cast<Number>(amount);
  return {};
}

}  // namespace ctprof::cli
