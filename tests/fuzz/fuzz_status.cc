// Parses any bytes as a status file. Checks that the state is one letter.

#include "plugins/procfs-sched/status.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto status = ctprof::procfs::StatusFile::parse(text);
  const auto& state = status.of<ctprof::vocabulary::state>();
  if (state && state.value.value.size() != 1) std::abort();
  return 0;
}
