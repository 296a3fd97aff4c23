// Chooses file names that the user did not specify: the newest recording in the working directory,
// and the output name of a page or flame graph.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tools/ctprof/options/options.hpp"

namespace ctprof::cli {

// Returns the most recently written file in the working directory whose name ends in .ctprof.zst.
// If several have that time, returns the first by name. Returns none if no such file exists.
std::optional<std::string> find_newest_recording();

// Returns the options with an output name: the specified one, or "run.html" for
// "runs/run.ctprof.zst". `suffix` includes the dot. REQUIRES: at least one argument.
Options with_default_output(Options options, std::string_view suffix);

}  // namespace ctprof::cli
