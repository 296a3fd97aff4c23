// Any bytes as a file that a process has mapped: no crash, and the same rule each time that it is
// asked for.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "core/stacks/cfi.hpp"
#include "core/stacks/symbols.hpp"

using namespace ctprof;

namespace {

bool same(const Rule& a, const Rule& b) {
  return a.cfa == b.cfa && a.ra == b.ra && a.bp == b.bp && a.cfa_offset == b.cfa_offset &&
         a.ra_offset == b.ra_offset && a.bp_offset == b.bp_offset && a.is_signal == b.is_signal;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ElfFile file(std::string_view(reinterpret_cast<const char*>(data), size));
  file.build_id();
  const Cfi cfi(file);
  std::vector<FileAddress> addresses;
  for (std::uint64_t offset = 0; offset < 0x4000; offset += 61) {
    const auto address = file.code_address(offset);
    if (!address) continue;
    if (!same(cfi.rule_at(*address), cfi.rule_at(*address))) std::abort();
    if (addresses.empty() || *address > addresses.back()) addresses.push_back(*address);
  }
  if (names_in_file(file, addresses).size() != addresses.size()) std::abort();
  return 0;
}
