// Reads any bytes as an ELF file to find names of functions. Checks that there is one name for each
// address, and that the length of names and the work stay within their limits.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "core/stacks/symbols.hpp"

using namespace ctprof;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint64_t kMaxWork = 1 << 22;
  constexpr std::size_t kPltSuffixBytes = 4;  // characters of "@plt"
  const ElfFile file(std::string_view(reinterpret_cast<const char*>(data), size));
  std::vector<FileAddress> addresses;
  for (FileAddress address = 0; address < size && addresses.size() < 1024; address += 8)
    addresses.push_back(address);
  NameWork work(kMaxWork);
  const auto names = find_names_in_file(file, addresses, &file, work);
  if (names.size() != addresses.size()) std::abort();
  std::uint64_t bytes = 0;
  for (const std::string& name : names) {
    if (name.size() > kMaxFunctionNameSize + kPltSuffixBytes) std::abort();
    bytes += name.size();
  }
  if (bytes > kMaxWork + kPltSuffixBytes * names.size()) std::abort();
  return 0;
}
