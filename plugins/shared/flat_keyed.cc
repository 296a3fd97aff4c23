#include "plugins/shared/flat_keyed.hpp"

#include "ctprof/files.hpp"

namespace ctprof {

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

sdk::Reading<std::uint64_t> flat_value(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    std::string_view line = sdk::take(text, '\n');
    if (sdk::take(line, ' ') == key) return sdk::number<std::uint64_t>(line);
  }
  return Gap::Unsupported;
}

}  // namespace ctprof
