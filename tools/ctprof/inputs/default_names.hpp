// Chooses file names that the user did not specify: the newest recording in the working directory,
// and the output name of a page or flame graph.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ctprof::cli {

// Returns the most recently written file in the working directory whose name ends in .ctprof.zst.
// If several have that time, returns the first by name. Returns none if no such file exists.
std::optional<std::string> find_newest_recording();

// Returns the name of an output: "run.html" for the input "runs/run.ctprof.zst". `suffix` includes
// the dot.
std::string default_output_name(const std::string& input, std::string_view suffix);

}  // namespace ctprof::cli
