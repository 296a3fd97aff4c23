// Reads any bytes as a perf map, as kallsyms, as a mangled name, and as a list of mappings. Checks
// that there is one name for each address, that no name is too long, and that a text whose work
// exceeds the limit results in no names.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "core/stacks/address_space.hpp"
#include "core/stacks/demangle.hpp"
#include "core/stacks/symbols.hpp"

using namespace ctprof;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::uint64_t> addresses{0, 1, 0x10, 0x500, 0x1000, 0x7f10, 0xffffffff81000000};
  NameWork too_little(NameWork::kStepsPerTextByte * text.size() / 2);
  for (const std::string& name : find_names_in_perf_map(text, addresses, too_little))
    if (!name.empty()) std::abort();
  for (const auto& names :
       {find_names_in_perf_map(text, addresses), find_names_in_kallsyms(text, addresses)}) {
    if (names.size() != addresses.size()) std::abort();
    for (const auto& name : names)
      if (name.size() > 8192) std::abort();
  }
  if (demangle(text).size() > std::max<std::size_t>(4096, size)) std::abort();
  for (const Mapping& mapping : parse_code_mappings(text))
    if (mapping.start >= mapping.end) std::abort();
  return 0;
}
