// Parses any bytes as a smaps_rollup file. Checks that every key is a view into the text.

#include "plugins/procfs-sched/smaps_rollup.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<ctprof_entry> entries;
  if (!ctprof::procfs::parse_smaps_rollup(text, entries)) return 0;
  for (const ctprof_entry& entry : entries)
    if (entry.key.size == 0 || entry.key.data < text.data() ||
        entry.key.data + entry.key.size > text.data() + size)
      std::abort();
  return 0;
}
