// `record --every`: records consecutive windows for as long as the host runs, into a directory that
// is limited by age and size (core/archive).

#pragma once

#include "tools/ctprof/commands/record_options.hpp"

namespace ctprof::cli {

// Records until it is interrupted, or for --duration; then ends and stores the open window. With
// --dry-run only prints a forecast. Returns the exit status. REQUIRES: options.continuous.every_ns
// > 0.
int run_continuous_recording(const RecordCommandOptions& options);

}  // namespace ctprof::cli
