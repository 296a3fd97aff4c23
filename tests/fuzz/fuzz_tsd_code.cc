// Decodes any bytes as the code of malloc and free, for both architectures. Checks that the two
// counters are 8 or 16 bytes apart. The first byte is the size of the first function.

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "plugins/jemalloc-ptrace/finder/tsd_code.hpp"

using namespace ctprof::jemalloc;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span bytes(data + 1, size - 1);
  const std::size_t cut = std::min<std::size_t>(data[0], bytes.size());
  for (const std::uint16_t machine : {EM_X86_64, EM_AARCH64}) {
    const auto found =
        find_counters(machine, {0x1000, bytes.first(cut)}, {0x1000 + cut, bytes.subspan(cut)});
    if (!found) continue;
    const auto distance = static_cast<std::uint64_t>(found->deallocated.offset) -
                          static_cast<std::uint64_t>(found->allocated.offset);
    if (found->allocated.slot != found->deallocated.slot || (distance != 8 && distance != 16))
      std::abort();
  }
  return 0;
}
