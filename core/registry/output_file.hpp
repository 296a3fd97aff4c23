// Opens the files of output plugins, which export `ctprof_output` instead of `ctprof_plugin`.
//
// The rules for files and directories are those of other plugins (plugin_directory.hpp).

#pragma once

#include <string>

#include "core/base/result.hpp"
#include "core/registry/plugin_directory.hpp"

namespace ctprof {

// Opens a directory of ctprof's own plugins. If the executable gave this process privileges, no
// other user than root may be able to change it or to replace the program.
Result<PluginDirectory> open_shipped_directory(const std::string& path);

struct OutputFile {
  std::string path;
  sdk::Fd fd;
};

// Opens a file, with privileges only if no other user than root can change it or the directories in
// which it searches libraries. The error does not name the file.
Result<OutputFile> open_output_file(const std::string& path);

// Returns whether the file is a regular file that can be opened and exports `ctprof_output`.
bool is_output_file(const std::string& path);

}  // namespace ctprof
