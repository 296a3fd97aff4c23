// Unpacks compressed parts of files, which may be hostile.
//
// Output and memory are limited, because a few bytes can claim to be gigabytes. Broken or too large
// input gives an empty result.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ctprof {

// Unpacks a section that zlib or zstd compressed (SHF_COMPRESSED). `section` is the section in the
// file: a header with the unpacked size, at most `max_size`, and the compressed data.
std::string unpack_section(std::string_view section, std::size_t max_size);

struct UnpackedXz {
  std::string bytes;
  std::size_t produced_bytes = 0;  // bytes, even if the file is damaged after them
  bool is_too_large = false;
};

// Unpacks an .xz file of at most `max_size` unpacked bytes.
UnpackedXz unpack_xz(std::string_view file, std::size_t max_size);

}  // namespace ctprof
