// Names of files that the user did not specify: the newest recording here, and what a page or a
// picture of a file is called.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tools/ctprof/options/options.hpp"

namespace ctprof::cli {

// The file in the working directory that ends in .ctprof.zst and was written last; of equals the
// first by name. None: there is none.
std::optional<std::string> newest_recording();

// The options with an output: what was specified, or "run.html" of "runs/run.ctprof.zst". `suffix`
// has the dot. REQUIRES: there is an argument.
Options with_output(Options options, std::string_view suffix);

}  // namespace ctprof::cli
