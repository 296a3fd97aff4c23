#include "plugins/shared/text_formats.hpp"

#include "ctprof/files.hpp"

namespace ctprof {
namespace {

constexpr std::uint64_t kBitsPerWord = 64;

sdk::Reading<std::uint64_t> parse_cpu(std::string_view text) {
  return sdk::number<std::uint64_t>(text);
}

void add_range(std::uint64_t first, std::uint64_t last, std::vector<std::uint64_t>& words) {
  if (words.size() <= last / kBitsPerWord) words.resize(last / kBitsPerWord + 1, 0);
  for (std::uint64_t cpu = first; cpu <= last; ++cpu)
    words[cpu / kBitsPerWord] |= std::uint64_t{1} << (cpu % kBitsPerWord);
}

bool add_part(std::string_view part, std::vector<std::uint64_t>& words) {
  const bool is_range = part.find('-') != part.npos;
  const auto first = parse_cpu(sdk::take(part, '-'));
  const auto last = is_range ? parse_cpu(part) : first;
  if (!first || !last || first.value > last.value || last.value >= kMaxCpus) return false;
  add_range(first.value, last.value, words);
  return true;
}

}  // namespace

bool parse_cpu_list(std::string_view list, std::vector<std::uint64_t>& words) {
  words.clear();
  if (list.empty()) return false;
  while (!list.empty())
    if (!add_part(sdk::take(list, ','), words)) return false;
  return true;
}

bool parse_flat_keyed(std::string_view text, std::vector<ctprof_entry>& entries) {
  entries.clear();
  while (!text.empty()) {
    std::string_view line = sdk::take(text, '\n');
    const std::string_view key = sdk::take(line, ' ');
    const auto value = sdk::number<std::uint64_t>(line);
    if (key.empty() || !value) return false;
    entries.push_back({{key.data(), key.size()}, value.value});
  }
  return !entries.empty();
}

sdk::Reading<std::uint64_t> find_flat_value(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    std::string_view line = sdk::take(text, '\n');
    if (sdk::take(line, ' ') == key) return sdk::number<std::uint64_t>(line);
  }
  return Gap::Unsupported;
}

}  // namespace ctprof
