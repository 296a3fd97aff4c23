// Parses any bytes as a stat file. Checks that no field is a view beyond the text.

#include "plugins/procfs-sched/stat.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const ctprof::procfs::Stat stat = ctprof::procfs::parse_stat(text);
  if (stat.word<3>() && !stat.word<3>().value.empty() &&
      (stat.word<3>().value.data() < text.data() ||
       stat.word<3>().value.data() >= text.data() + size))
    std::abort();
  ctprof::procfs::has_no_memory(stat);
  return 0;
}
