// Parses any bytes as a list of CPUs. Checks that no CPU exceeds the largest number.

#include "plugins/shared/text_formats.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::uint64_t> words;
  if (!ctprof::parse_cpu_list(text, words)) return 0;
  if (words.empty() || words.size() > ctprof::kMaxCpus / 64 || words.back() == 0) std::abort();
  return 0;
}
