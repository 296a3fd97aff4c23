#include "plugins/psi/pressure.hpp"

#include <algorithm>
#include <limits>

#include "ctprof/files.hpp"

namespace ctprof::psi {
namespace {

bool is_digits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

void parse_word(std::string_view word, PressureLine& line) {
  const std::string_view key = sdk::take(word, '=');
  if (key == "avg10") line.avg10 = parse_hundredths(word);
  if (key == "avg60") line.avg60 = parse_hundredths(word);
  if (key == "avg300") line.avg300 = parse_hundredths(word);
  if (key == "total") line.total_usec = sdk::number<std::uint64_t>(word);
}

PressureLine parse_line(std::string_view text) {
  PressureLine line{Gap::Malformed, Gap::Malformed, Gap::Malformed, Gap::Malformed};
  while (!text.empty()) parse_word(sdk::take(text, ' '), line);
  return line;
}

}  // namespace

sdk::ReadingOf<sdk::GaugeRatio100> parse_hundredths(std::string_view text) {
  const auto whole = sdk::number<std::uint16_t>(sdk::take(text, '.'));
  if (!whole || !is_digits(text)) return Gap::Malformed;
  std::uint64_t value = whole.value;
  for (std::size_t digit = 0; digit < 2; ++digit)
    value = value * 10 + (digit < text.size() ? static_cast<std::uint64_t>(text[digit] - '0') : 0);
  if (value > std::numeric_limits<std::uint16_t>::max()) return Gap::Malformed;
  return value;
}

Pressure parse_pressure(std::string_view text) {
  Pressure pressure;
  while (!text.empty()) {
    std::string_view line = sdk::take(text, '\n');
    const std::string_view kind = sdk::take(line, ' ');
    if (kind == "some") pressure.some = parse_line(line);
    if (kind == "full") pressure.full = parse_line(line);
  }
  return pressure;
}

}  // namespace ctprof::psi
