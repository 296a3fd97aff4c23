// A document as zstd frames, one or more for each of its parts, with a checksum each: every zstd
// reader takes frames that follow one another for one text, and several workers can make them.

#pragma once

#include <cstdint>

#include "core/base/result.hpp"
#include "core/file/write/document.hpp"
#include "core/file/write/out_file.hpp"

namespace ctprof {

// Returns the bytes of the text. The same document gives the same bytes, whatever the number of
// workers. Fails where the file cannot be written; throws bad_alloc.
Result<std::uint64_t> write_frames(const Document& document, OutFile& file, int level,
                                   unsigned workers);

}  // namespace ctprof
