// Inspects a plugin's file before the dynamic loader maps it and runs its constructors.
//
// The dynamic loader trusts the headers of a file: it maps segments beyond the end of a truncated
// file and then fails with SIGBUS. So the headers, the segments and the dynamic section are first
// read here without mapping, and must lie within the file. This detects files that are truncated,
// built for another machine, or not plugins, before any of their code runs. It does not protect
// against files that are damaged in the middle or malicious: a user who can install a plugin can
// run code.
//
// Time and memory are bounded: a few hundred reads, and names no longer than a path.

#pragma once

#include <string>
#include <vector>

#include "core/base/result.hpp"

namespace ctprof {

struct PluginFile {
  bool is_layout = false;    // its table has the flag CTPROF_PLUGIN_LAYOUT
  bool opens_early = false;  // its table has the flag CTPROF_PLUGIN_AHEAD
  bool is_recorder = false;  // its table has the flag CTPROF_PLUGIN_RECORDER
  // The entries of DT_RPATH and DT_RUNPATH, unchanged.
  std::vector<std::string> library_directories;
  // DT_NEEDED and other libraries that the loader would load as well.
  std::vector<std::string> libraries;
};

// Reads an open regular file; does not take ownership of `fd`. The error does not name the file:
// "it is truncated: ...".
Result<PluginFile> read_plugin_file(int fd);

}  // namespace ctprof
