// Inspects a plugin's file before the dynamic loader maps it and runs its constructors.
//
// The dynamic loader trusts what a file says about itself: it maps segments beyond the end of a
// truncated file, and dies of SIGBUS. So the headers, the segments and the dynamic section are read
// here first, without mapping, and must lie within the file. That finds files that are truncated,
// built for another machine, or no plugin at all, before any of their code runs. It is no defence
// against a file that is damaged in the middle, or malicious: whoever can install a plugin can run
// code.
//
// Time and memory are bounded: a few hundred reads, and names no longer than a path.

#pragma once

#include <string>
#include <vector>

#include "core/base/result.hpp"

namespace ctprof {

struct PluginFile {
  bool layout = false;                   // its table says CTPROF_PLUGIN_LAYOUT
  bool ahead = false;                    // and CTPROF_PLUGIN_AHEAD
  bool recorder = false;                 // and CTPROF_PLUGIN_RECORDER
  std::vector<std::string> directories;  // DT_RPATH and DT_RUNPATH, entry by entry, as they stand
  std::vector<std::string> libraries;    // DT_NEEDED and what else the loader would load with it
};

// Reads an open regular file; does not take ownership of `fd`. The error does not name the file:
// "it is cut short: ...".
Result<PluginFile> read_plugin_file(int fd);

}  // namespace ctprof
