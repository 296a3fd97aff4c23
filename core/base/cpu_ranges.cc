#include "core/base/cpu_ranges.hpp"

#include <charconv>

namespace ctprof {
namespace {

constexpr std::size_t kWordBits = 64;

bool take_number(std::string_view& text, std::size_t& number) {
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return true;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::string format_cpu_ranges(std::span<const std::uint64_t> words) {
  const std::size_t bits = words.size() * kWordBits;
  const auto is_set = [&](std::size_t bit) {
    return bit < bits && (words[bit / kWordBits] >> bit % kWordBits & 1) != 0;
  };
  std::string text;
  for (std::size_t first = 0; first < bits; ++first) {
    if (!is_set(first)) continue;
    std::size_t last = first;
    while (is_set(last + 1)) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(first);
    if (last > first) text += "-" + std::to_string(last);
    first = last;
  }
  return text;
}

bool parse_cpu_ranges(std::string_view text, std::size_t cpu_count,
                      std::vector<std::uint64_t>& words) {
  words.clear();
  std::size_t next_cpu = 0;  // smallest number that may follow
  while (!text.empty()) {
    if (next_cpu > 0 && !take(text, ',')) return false;
    std::size_t first = 0, last = 0;
    if (!take_number(text, first)) return false;
    last = first;
    if (take(text, '-') && !take_number(text, last)) return false;
    if (first < next_cpu || last < first || last >= cpu_count) return false;
    if (words.size() <= last / kWordBits) words.resize(last / kWordBits + 1);
    for (std::size_t cpu = first; cpu <= last; ++cpu)
      words[cpu / kWordBits] |= std::uint64_t{1} << cpu % kWordBits;
    next_cpu = last + 1;
  }
  return true;
}

}  // namespace ctprof
