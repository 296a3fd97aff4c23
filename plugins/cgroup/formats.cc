#include "plugins/cgroup/formats.hpp"

#include <algorithm>

#include "ctprof/files.hpp"

namespace ctprof::cgroup {
namespace {

constexpr std::array<std::string_view, IoStat::kKeys> kNames{"rbytes", "wbytes", "rios",
                                                             "wios",   "dbytes", "dios"};

bool is_device(std::string_view word) {
  const auto major = sdk::number<std::uint32_t>(sdk::take(word, ':'));
  return major && sdk::number<std::uint32_t>(word);
}

void parse_word(std::string_view device, std::string_view word, IoStat& io) {
  const auto found = std::find(kNames.begin(), kNames.end(), sdk::take(word, '='));
  if (found == kNames.end()) return;
  const auto key = static_cast<std::size_t>(found - kNames.begin());
  const auto value = sdk::number<std::uint64_t>(word);
  if (value && !device.empty())
    io.maps[key].push_back({{device.data(), device.size()}, value.value});
  else
    io.malformed[key] = true;
}

void parse_line(std::string_view line, IoStat& io) {
  std::string_view device;
  while (!line.empty()) {
    const std::string_view word = sdk::take(line, ' ');
    if (is_device(word))
      device = word;
    else
      parse_word(device, word, io);
  }
}

}  // namespace

sdk::Reading<std::uint64_t> parse_limit(std::string_view text) {
  text = sdk::trimmed(text);
  return text == "max" ? sdk::Reading<std::uint64_t>(kNoLimit) : sdk::number<std::uint64_t>(text);
}

CpuMax parse_cpu_max(std::string_view text) {
  const std::string_view quota = sdk::take(text, ' ');
  return {parse_limit(quota), sdk::number<std::uint64_t>(sdk::trimmed(text))};
}

sdk::Reading<sdk::Entries> IoStat::operator[](Key key) const {
  if (malformed[key]) return Gap::Malformed;
  return sdk::Entries(maps[key]);
}

void parse_io_stat(std::string_view text, IoStat& io) {
  for (auto& map : io.maps) map.clear();
  io.malformed = {};
  while (!text.empty()) parse_line(sdk::take(text, '\n'), io);
}

}  // namespace ctprof::cgroup
