// Parses any bytes as an io file. Checks that a missing field is a gap.

#include "plugins/procfs-sched/thread_files.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto io = ctprof::procfs::IoFile::parse(text);
  if (io.of<ctprof::vocabulary::rchar>() && text.find("rchar:") == text.npos) std::abort();
  return 0;
}
