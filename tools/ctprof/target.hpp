// Where a command writes its file: what -o names, or standard output.

#pragma once

#include <string>

#include "core/base/result.hpp"
#include "core/file/write/destination.hpp"
#include "tools/ctprof/options.hpp"

namespace ctprof::cli {

struct Target {
  Destination destination;
  bool is_stdout;
  std::string name;  // as reported
};

// Asked before the work that would be lost otherwise, with the user's own rights: whoever starts a
// ctprof with capabilities writes only where they may themselves. Fails where -o is missing, names
// the terminal, or cannot be written.
Result<Target> target_of(const Options& options);

}  // namespace ctprof::cli
