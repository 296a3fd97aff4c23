// `record --every`: windows back to back for as long as the host runs, in a directory that is kept
// within an age and a size (core/archive).

#pragma once

#include "tools/ctprof/options/options.hpp"

namespace ctprof::cli {

// Records until it is interrupted, or for --duration; then the open window is ended and kept. With
// --dry-run only forecasts. Returns the exit status. REQUIRES: options.always.every_ns > 0.
int run_always(const Options& options);

}  // namespace ctprof::cli
