// Any bytes as a file with debug information: what was inlined in it is told within bounds, and
// libdw and what is put before it come to an end.

#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "core/stacks/inlines.hpp"
#include "ctprof/files.hpp"

using namespace ctprof;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const sdk::Fd fd(::memfd_create("fuzz", MFD_CLOEXEC));
  if (::write(fd.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  const ElfFile file(fd.get());
  std::vector<FileAddress> addresses;
  for (FileAddress address = 0; address < 0x2000; address += 7) addresses.push_back(address);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  const Inlines inlines = inlines_in(file, &file, addresses, until);
  if (inlines.chains.size() != addresses.size()) std::abort();
  for (const auto& chain : inlines.chains)
    for (const std::uint32_t name : chain)
      if (name >= inlines.names.size()) std::abort();
  return 0;
}
