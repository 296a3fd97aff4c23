#include "plugins/cgroupfs/v1_lines.hpp"

#include "ctprof/files.hpp"

namespace ctprof::cgroupfs {

std::optional<V1Line> find_v1_line(std::string_view text, std::string_view controller) {
  while (!text.empty()) {
    std::string_view path = sdk::take(text, '\n');
    sdk::take(path, ':');
    if (path.find(':') == path.npos) continue;
    const std::string_view controllers = sdk::take(path, ':');
    for (std::string_view rest = controllers; !rest.empty();)
      if (sdk::take(rest, ',') == controller) return V1Line{controllers, path};
  }
  return std::nullopt;
}

}  // namespace ctprof::cgroupfs
