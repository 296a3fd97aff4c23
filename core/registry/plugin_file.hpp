// A plugin's file, looked at before the dynamic loader maps it and runs what is in it.
//
// The dynamic loader believes what a file says of itself: it maps segments that lie beyond the end
// of a file that was cut, and dies of SIGBUS. So headers, segments and the dynamic section are read
// here first, piece by piece and never mapped, and must lie within the file. That finds what was
// cut short, what is for another machine, and what is no plugin at all, before any code of it runs.
// It is no proof against a file that was damaged in its middle, or made to harm: whoever may put a
// plugin there runs code.
//
// Memory and time are bounded: some hundred reads, and names of at most a path's length.
//
// What is here:   ELF files of this machine, and the parts of the plugin's table that are plain
// numbers. What is not:    opening the file (plugin_directory.hpp), the table as a whole
// (plugin.hpp).

#pragma once

#include <string>
#include <vector>

#include "core/base/result.hpp"

namespace ctprof {

struct PluginFile {
  bool layout = false;                   // its table says CTPROF_PLUGIN_LAYOUT
  std::vector<std::string> directories;  // DT_RPATH and DT_RUNPATH, entry by entry, as they stand
  std::vector<std::string> libraries;    // DT_NEEDED and what else the loader would load with it
};

// Reads an open regular file. The error is a reason without the file's name: "it is cut short:
// ...".
Result<PluginFile> read_plugin_file(int fd);

}  // namespace ctprof
