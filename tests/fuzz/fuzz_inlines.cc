// Reads any bytes as a file with debug information. Checks that the indexes of inlined functions
// are valid, and that libdw and the checks before it terminate.

#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/stacks/inlines.hpp"
#include "core/stacks/split_units.hpp"
#include "ctprof/files.hpp"

using namespace ctprof;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const sdk::Fd fd(::memfd_create("fuzz", MFD_CLOEXEC));
  if (::write(fd.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  const ElfFile file(fd.get());
  std::vector<FileAddress> addresses;
  for (FileAddress address = 0; address < 0x2000; address += 7) addresses.push_back(address);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  // The same bytes serve as the file of dwz, and as all files of split units.
  const auto open = [&](const std::string&) { return sdk::Fd(::dup(fd.get())); };
  const Inlines inlines = find_inlines(
      file, {.dwz_file = &file, .open = open, .program_path = "/program"}, addresses, until);
  // Reads the bytes as a .dwp and a .dwo file, even if no unit in them refers to one.
  SplitUnits units(file, open, "/program");
  units.open(
      {.name = "unit.dwo", .directory = "/", .id = 0, .addresses_offset = 8, .ranges_offset = 8});
  units.open({.name = "/unit.dwo", .directory = {}, .id = UINT64_MAX});
  if (inlines.chains.size() != addresses.size()) std::abort();
  for (const auto& chain : inlines.chains)
    for (const std::uint32_t name : chain)
      if (name >= inlines.names.size()) std::abort();
  return 0;
}
