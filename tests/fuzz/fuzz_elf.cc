// Reads any bytes as a mapped ELF file. Checks that the found counters are within the thread-local
// segment that the file claims.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "ctprof/files.hpp"
#include "plugins/jemalloc-ptrace/finder/allocator_file.hpp"
#include "plugins/jemalloc-ptrace/finder/debug_info.hpp"
#include "plugins/jemalloc-ptrace/finder/debug_sections.hpp"

using namespace ctprof;
using namespace ctprof::jemalloc;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ctprof::sdk::Fd fd(::memfd_create("fuzz", MFD_CLOEXEC));
  if (::write(fd.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  const ElfFile file(fd.get());
  const auto fields = [&](const ElfFile&) {
    return DebugFacts{{static_cast<std::int64_t>(size), 1 << 20}, size};
  };
  const FileResult result = analyze_file(file, fields);
  const CounterPair& counters = result.layout.counters;
  if (result.status == FindStatus::Found && counters.allocated >= counters.deallocated)
    std::abort();
  find_debug_sections(file);
  read_debug_hints(file);
  return 0;
}
