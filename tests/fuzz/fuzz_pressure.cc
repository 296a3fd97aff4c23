// Parses any bytes as a pressure file. Checks that no value exceeds what the format can represent.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "plugins/psi/pressure.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto pressure = ctprof::psi::parse_pressure(text);
  for (const auto& line : {pressure.some, pressure.full})
    for (const auto& mean : {line.avg10, line.avg60, line.avg300})
      if (mean && mean.value > 65535) std::abort();
  if (pressure.some.total_usec && text.find("some ") == text.npos) std::abort();
  return 0;
}
