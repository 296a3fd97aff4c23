// Reads any bytes as a file with debug information, or as a package of it. Checks that libdw and
// the checks before it terminate.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "ctprof/files.hpp"
#include "plugins/jemalloc-ptrace/finder/debug_info.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ctprof::sdk::Fd fd(::memfd_create("fuzz", MFD_CLOEXEC));
  if (::write(fd.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  const auto fields = ctprof::jemalloc::find_tsd_fields(ctprof::ElfFile(fd.get()));
  if (fields && fields->allocated >= fields->deallocated) std::abort();
  return 0;
}
