// Finds the file of an output plugin.
//
// Output plugins are in the directory `outputs` of ctprof's own plugins, and in the directories of
// --plugin-path and CTPROF_PLUGIN_PATH. The name of the file is that of the plugin: `otlp.so`. The
// first file with a name is taken. If the executable gave the process privileges (AT_SECURE), only
// ctprof's own directory is searched, and only files that no user except root can change are taken
// (registry/plugin_directory.hpp).
//
// Nothing is loaded here; output_process.hpp loads the file.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/output_file.hpp"

namespace ctprof {

struct OutputDirectories {
  std::string shipped;              // empty: unknown
  std::vector<std::string> others;  // in the order of the search; ignored with privileges
};

// Returns the directory `outputs` of ctprof's own plugins, or "" if it is unknown.
std::string own_output_directory();

// Returns the names of all output plugins, sorted, including refused files of ctprof's own
// directory.
std::vector<std::string> list_outputs(const OutputDirectories& directories);

// Fails if there is no such output plugin, or if its file is refused.
Result<OutputFile> find_output(std::string_view name, const OutputDirectories& directories);

}  // namespace ctprof
