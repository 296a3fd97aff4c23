// Loading from memory, for tests and fuzzing; files go through file.hpp.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/file/layout/limits.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// One capture of a file, which may hold several.
struct CaptureName {
  std::string path;
  std::size_t number = 1;
  bool is_chosen = false;  // rather than the first for want of a choice
};

// What `FILE` or `FILE#N` names: a file that is there is a path, whatever is in its name.
CaptureName name_of_capture(const std::string& argument);

// A whole file's bytes. The name's path stands for it in errors.
Result<Snapshot> load_bytes(std::string_view zstd, const CaptureName& name,
                            const Vocabulary& vocabulary);

// The text that a file unfolds to. The parser gets it in slices; where none holds a whole row, no
// row takes the short way.
Result<Snapshot> load_text(std::string_view json, const std::string& name,
                           const Vocabulary& vocabulary,
                           std::size_t slice_bytes = limits::kSliceBytes);

}  // namespace ctprof
