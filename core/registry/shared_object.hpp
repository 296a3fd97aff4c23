// Parts of the inspection of shared objects that plugins and output plugins have in common.

#pragma once

#include "core/base/result.hpp"

namespace ctprof {

struct PluginFile;

// Reads only the libraries of an open file (PluginFile). Does not take ownership.
Result<PluginFile> read_libraries(int fd);

// Returns whether an open regular file is a shared object that exports `ctprof_output`. Does not
// take ownership.
bool exports_output(int fd);

// Fails if the file searches libraries in a directory that another user than root can change.
Result<void> check_trusted_libraries(const PluginFile& file);

}  // namespace ctprof
