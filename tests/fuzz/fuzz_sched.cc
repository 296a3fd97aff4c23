// Parses any bytes as a sched file. Checks that a file without a header results in no values.

#include "plugins/procfs-sched/sched.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  using namespace ctprof::procfs;
  const Sched sched = parse_sched(text);
  const bool header = text.find("\n--------------------------------") != text.npos;
  for (std::size_t i = 0; i < kSchedKeys.size(); ++i)
    if (sched[i] && !header) std::abort();
  if (sched.negative_times > size) std::abort();
  compute_voluntary_sleep(sched);
  read_fair_slice(sched);
  return 0;
}
