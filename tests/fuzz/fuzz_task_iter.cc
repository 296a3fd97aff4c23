// Parses any bytes as a thread's cgroup file and as its stat file. Checks that a path is a part of
// one line, and a name a part of the text.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "plugins/shared/hidden_threads.hpp"
#include "plugins/task-iter/names.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check_cgroup(std::string_view text) {
  const auto path = ctprof::task_iter::find_unified_path(text);
  if (!path) return;
  require(path.value.data() >= text.data() &&
          path.value.data() + path.value.size() <= text.data() + text.size());
  require(path.value.starts_with('/') && path.value.find('\n') == path.value.npos);
  require(
      text.substr(0, static_cast<std::size_t>(path.value.data() - text.data())).ends_with("0::"));
}

// Checks that the name is between the first and the last parenthesis, whatever it contains, and
// that the start time follows it.
void check_stat(std::string_view text) {
  ctprof::HiddenThread thread{};
  if (!ctprof::parse_hidden_thread(text, thread)) return;
  const auto open = text.find('('), close = text.rfind(')');
  require(open < close && close != text.npos);
  require(text.substr(open, close - open).find(thread.name) != text.npos);
  require(text.find(std::to_string(thread.start_ticks), close) != text.npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_cgroup(text);
  check_stat(text);
  return 0;
}
