// Bytes that were packed inside of a file, which may be hostile.
//
// What comes out is bounded, and so is the memory that it takes: a few bytes can claim to be
// gigabytes. What is broken, or larger than it may be, is nothing.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ctprof {

// Of a section that zlib or zstd packed (SHF_COMPRESSED), as it stands in the file: a header that
// tells the size, at most `most`, and the rest.
std::string unpacked_section(std::string_view section, std::size_t most);

struct UnpackedXz {
  std::string bytes;
  std::size_t produced = 0;  // bytes, also of a file that is broken behind them
  bool is_too_large = false;
};

// Of an .xz file, which unpacks to at most `most`.
UnpackedXz unpacked_xz(std::string_view file, std::size_t most);

}  // namespace ctprof
