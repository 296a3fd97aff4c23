// Loading from memory, for tests and fuzzing; files go through file.hpp.

#pragma once

#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/registry/vocabulary.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// A whole file's bytes. `name` stands for it in errors.
Result<Snapshot> load_bytes(std::string_view zstd, const std::string& name, const Vocabulary& vocabulary);

// The text that a file unfolds to.
Result<Snapshot> load_text(std::string_view json, const std::string& name, const Vocabulary& vocabulary);

}  // namespace ctprof
