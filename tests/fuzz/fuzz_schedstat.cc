// Parses any bytes as a schedstat file. Checks that a number equals its digits in the text.

#include "plugins/procfs-sched/thread_files.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto schedstat = ctprof::procfs::SchedstatFile::parse(text);
  const auto& run = schedstat.of<ctprof::vocabulary::run_time_ns>();
  if (run && !text.starts_with(std::to_string(run.value)) && !text.starts_with('0')) std::abort();
  return 0;
}
