#include "core/output/describe_window.hpp"

#include <algorithm>
#include <string>

#include "core/base/version.hpp"

namespace ctprof {

void describe_window(const Meta& meta, std::optional<std::uint64_t> length_ns,
                     OutputWindow& window) {
  window.end_ns = meta.start.wall_unix_ns;
  if (length_ns) {
    window.length_ns = *length_ns;
    window.start_ns = window.end_ns - std::min(window.end_ns, *length_ns);
  } else {
    window.flags |= CTPROF_OUTPUT_SNAPSHOT;
  }
  window.user_hz = static_cast<std::uint32_t>(meta.user_hz);
  window.host = meta.hostname.value_or("");
  window.producer = std::string(kVersion);
}

}  // namespace ctprof
