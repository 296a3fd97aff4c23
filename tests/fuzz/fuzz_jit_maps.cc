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
  constexpr std::size_t kLittle = 64;
  const sdk::Fd fd(::memfd_create("fuzz", MFD_CLOEXEC));
  if (::write(fd.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  const JitMap dump = read_jit_dump(fd.get()), little = read_jit_dump(fd.get(), kLittle);
  if (!dump.text.empty() && dump.text.back() != '\n') std::abort();
  if (little.text.size() > kLittle || !dump.text.ends_with(little.text)) std::abort();
  if (little.is_cut != (dump.text.size() > kLittle)) std::abort();
  if (read_perf_map(fd.get(), kLittle).text.size() > kLittle) std::abort();
  process_of_jit_dump({reinterpret_cast<const char*>(data), size});
  return 0;
}
