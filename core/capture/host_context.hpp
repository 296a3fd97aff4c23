// The host's context: what two captures must have in common to be compared, and what may explain that they differ.
//
// Processor, memory, kernel and its command line, scheduler tunables; the file's `host` object, in the reference's layout.
// The host's name is not in it.

#pragma once

#include <string>

#include "core/capture/roots.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// What cannot be read is left out.
RawJson host_context(const Roots& roots);

}  // namespace ctprof
