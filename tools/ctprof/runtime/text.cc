#include "tools/ctprof/runtime/text.hpp"

#include <array>

#include "core/base/number.hpp"
#include "core/base/text.hpp"
#include "core/render/terminal_text.hpp"
#include "ctprof/files.hpp"
#include "tools/ctprof/runtime/output.hpp"

namespace ctprof::cli {
namespace {

constexpr std::size_t kWidthWithoutTerminal = 100;

}  // namespace

std::string group_digits(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string format_count(std::uint64_t number, std::string_view noun, std::string_view plural) {
  return group_digits(number) + " " + inflect(static_cast<double>(number), noun, plural);
}

std::string format_milliseconds(std::uint64_t nanoseconds) {
  return format_fixed(static_cast<double>(nanoseconds) / 1e6, 1) + " ms";
}

std::string format_size(std::uint64_t bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  // Selects the unit after rounding, so that "1024.0 KiB" never appears.
  while (value >= 1023.95 && unit + 1 < kUnits.size()) value /= 1024, ++unit;
  return format_fixed(value, 1) + " " + kUnits[unit];
}

std::string wrap_words(const std::vector<std::string>& words, std::size_t indent, std::size_t width,
                       std::size_t hanging) {
  std::string text, line(indent, ' ');
  bool has_words = false;
  for (const std::string& word : words) {
    const std::string shown = make_printable(word);
    if (has_words && line.size() + 1 + shown.size() > width)
      text += line + "\n", line.assign(indent + hanging, ' '), has_words = false;
    line += (has_words ? " " : "") + shown;
    has_words = true;
  }
  return text + line + "\n";
}

std::string wrap_words(std::string_view sentence, std::size_t indent, std::size_t width,
                       std::size_t hanging) {
  std::vector<std::string> words;
  while (!sentence.empty()) words.emplace_back(sdk::take(sentence, ' '));
  return wrap_words(words, indent, width, hanging);
}

std::size_t text_width() { return terminal_width() > 0 ? terminal_width() : kWidthWithoutTerminal; }

}  // namespace ctprof::cli
