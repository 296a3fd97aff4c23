// --redact: pseudonyms in what is exported.

#pragma once

#include "core/base/result.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/options.hpp"

namespace ctprof::cli {

// Redacts the snapshot where that is asked for, and tells, unless --quiet, what became of it. Fails
// where there is no key to be had.
Result<void> redact_as_asked(Snapshot& snapshot, const Vocabulary& known, const Options& options);

}  // namespace ctprof::cli
