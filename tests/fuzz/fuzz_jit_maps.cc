// Reads any bytes as a jitdump and as a perf map. Checks that the result consists of complete
// lines, and stays within its limit.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/stacks/jit_maps.hpp"
#include "ctprof/files.hpp"

using namespace ctprof;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kSmallLimit = 64;
  const sdk::Fd fd(::memfd_create("fuzz", MFD_CLOEXEC));
  if (::write(fd.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  const JitMap dump = read_jit_dump(fd.get()), limited = read_jit_dump(fd.get(), kSmallLimit);
  if (!dump.text.empty() && dump.text.back() != '\n') std::abort();
  if (limited.text.size() > kSmallLimit || !dump.text.ends_with(limited.text)) std::abort();
  if (limited.is_truncated != (dump.text.size() > kSmallLimit)) std::abort();
  if (read_perf_map(fd.get(), kSmallLimit).text.size() > kSmallLimit) std::abort();
  parse_jit_dump_process({reinterpret_cast<const char*>(data), size});
  return 0;
}
