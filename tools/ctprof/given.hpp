// What the arguments of show and compare name: files that are there.
//
// Not here: reading them, and what they mean together (sides.hpp).

#pragma once

#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "tools/ctprof/options.hpp"

namespace ctprof::cli {

enum class Form { File, Pair, Directory };

// An argument, and the files that it stands for: one, the two of A..B, or those of a directory in
// the order of their names.
struct Given {
  std::string text;
  Form form = Form::File;
  std::vector<std::string> files;
};

// The arguments of each side. One that exists is a path; else it is split at a `..` where both
// halves are files. Fails where it can be split at several places, where a directory has no file of
// ours, and where standard input would be read twice. A file that is not there is found out when it
// is read.
Result<std::vector<std::vector<Given>>> look_up(const Options& options);

}  // namespace ctprof::cli
