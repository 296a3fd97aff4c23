// Loads snapshots from memory, for tests and fuzzing. See file.hpp for loading files.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/file/layout/limits.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Identifies one capture of a file that may hold several.
struct CaptureName {
  std::string path;
  std::size_t number = 1;
  bool has_number = false;  // the argument contains the number
};

// Parses `FILE` or `FILE#N`. If a file with the complete name exists, the argument is its path.
CaptureName parse_capture_name(const std::string& argument);

// Loads a snapshot from the bytes of a file. Errors use the path in `name`.
Result<Snapshot> load_bytes(std::string_view zstd, const CaptureName& name,
                            const Vocabulary& vocabulary);

// Loads a snapshot from the decompressed text of a file. The parser receives it in slices; their
// size does not change the result.
Result<Snapshot> load_text(std::string_view json, const std::string& name,
                           const Vocabulary& vocabulary,
                           std::size_t slice_bytes = limits::kSliceBytes);

}  // namespace ctprof
