#include "tools/ctprof/text.hpp"

#include <array>
#include <cstdio>

namespace ctprof::cli {
namespace {

std::string one_decimal(double value, const char* unit) {
  char text[48];
  std::snprintf(text, sizeof text, "%.1f %s", value, unit);
  return text;
}

}  // namespace

std::string with_separators(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string count(std::uint64_t number, std::string_view noun, std::string_view plural) {
  const std::string many = plural.empty() ? std::string(noun) + "s" : std::string(plural);
  return with_separators(number) + " " + (number == 1 ? std::string(noun) : many);
}

std::string milliseconds(std::uint64_t nanoseconds) {
  return one_decimal(static_cast<double>(nanoseconds) / 1e6, "ms");
}

std::string size_in_words(std::uint64_t bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  // The step is taken after rounding: never "1024.0 KiB".
  while (value >= 1023.95 && unit + 1 < kUnits.size()) value /= 1024, ++unit;
  return one_decimal(value, kUnits[unit]);
}

}  // namespace ctprof::cli
