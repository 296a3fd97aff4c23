// A copy of a window, for who makes differences of it while the session goes on with its own.
//
// It is what writing the window's file and reading it would give, without the text: cells are
// copied by the column, ids looked up once for each text, bitset or map. Of what only files have,
// such as keys that nobody knows, it has nothing.

#pragma once

#include <optional>

#include "core/snapshot/snapshot.hpp"

namespace ctprof::live {

// None where the window has call stacks: these are read from its file. REQUIRES: window.window.
std::optional<Snapshot> copy_of(const Snapshot& window);

}  // namespace ctprof::live
