// Parses any bytes as a list of mappings. Checks that each file has an inode and a range.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "plugins/jemalloc-ptrace/finder/mappings.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const auto& file :
       ctprof::jemalloc::parse_code_files({reinterpret_cast<const char*>(data), size}))
    if (file.file.inode == 0 || file.range.find('-') == file.range.npos) std::abort();
  return 0;
}
