// Loads a snapshot from the decompressed text of a rows file, for tests and fuzzing. See
// capture_file.hpp for loading files.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/file/layout/limits.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// The parser receives the text in slices; their size does not change the result. Errors use `name`
// as the file's name.
Result<Snapshot> load_text(std::string_view json, const std::string& name,
                           const Vocabulary& vocabulary,
                           std::size_t slice_bytes = limits::kSliceBytes);

}  // namespace ctprof
