// Copies a window, so that differences can be computed while the session continues with the
// original.
//
// The result equals that of writing the window to a file and reading it, without the text: cells
// are copied per column, and ids are translated once per text, bitset or map. The copy has no data
// that occurs only in files, such as unknown keys.

#pragma once

#include <optional>

#include "core/base/result.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof::live {

// Returns none if the window has call stacks: these must be read from its file. REQUIRES:
// window.window.
std::optional<Snapshot> copy_window(const Snapshot& window);

// Returns a copy that contains the window's differences. A window with call stacks is copied by
// writing it to memory and reading it. `vocabulary`: of the registry that captured the window.
// REQUIRES: window.window, without differences yet.
Result<Snapshot> copy_differences(const Snapshot& window, const Vocabulary& vocabulary);

}  // namespace ctprof::live
