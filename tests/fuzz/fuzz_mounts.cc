// Parses any bytes as a list of mappings and as a list of mounts. Checks that each range belongs to
// a file, and that the name of a mount point is printable.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "plugins/jemalloc-ptrace/mounts.hpp"

using namespace ctprof::jemalloc;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto ranges = parse_file_ranges(text);
  for (const FileRange& range : ranges)
    if (range.device == 0 || (range.start < range.end && find_device(ranges, range.start) == 0))
      std::abort();
  constexpr std::uint64_t kDevice = 0xfd01;  // 253:1
  for (const char byte : parse_mount_point(text, kDevice))
    if (byte < ' ' || byte > '~') std::abort();
  return 0;
}
