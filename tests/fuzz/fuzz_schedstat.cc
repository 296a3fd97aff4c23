// Any bytes as a schedstat file: no crash, and a number of it stands for its digits.

#include "plugins/procfs-sched/schedstat.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto schedstat = ctprof::procfs::parse_schedstat(text);
  if (schedstat.run_time_ns && !text.starts_with(std::to_string(schedstat.run_time_ns.value)) &&
      !text.starts_with('0'))
    std::abort();
  return 0;
}
