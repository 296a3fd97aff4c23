// Finds and starts the output plugins that the options name, with their settings.

#pragma once

#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/output/find_output.hpp"
#include "core/output/output_process.hpp"
#include "tools/ctprof/options/common_options.hpp"

namespace ctprof::cli {

// Returns the directories in CTPROF_PLUGIN_PATH. An empty entry does not name the current
// directory.
std::vector<std::string> plugin_path_of_environment();

// Returns the directories to search for output plugins. `plugin_path`: those of --plugin-path.
OutputDirectories output_directories(const std::vector<std::string>& plugin_path);

// Returns the entries of --set that do not belong to output plugins.
std::vector<std::string> settings_of_sources(const CommonOptions& options);

// Starts an output plugin with its entries of --set. `bytes_fd` receives the bytes that it writes;
// -1: none. REQUIRES: no other thread exists.
Result<OutputProcess> start_output(const CommonOptions& options, const std::string& name,
                                   int bytes_fd);

// Returns the message about a line that the process of an output plugin printed.
std::string describe_printed_line(const std::string& name, const std::string& line);

// Describes an output plugin without opening it.
Result<OutputProcess> describe_output(const CommonOptions& options, const std::string& name);

}  // namespace ctprof::cli
