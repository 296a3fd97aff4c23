// Writes files from a window's call stacks: flame graphs, formats of other tools, and the same file
// with more function names.

#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.hpp"
#include "core/flame/stack_formats.hpp"
#include "tools/ctprof/options/options.hpp"
#include "tools/ctprof/runtime/privileges.hpp"

namespace ctprof::cli {

// Writes the stacks of the file's window in the specified form: those of --metric, or all. Returns
// the number of bytes written.
Result<std::uint64_t> export_stacks(const std::string& file, const StackFormat& form,
                                    const Target& target, const Options& options);

// Returns the form with that name, or null.
const StackFormat* find_stack_form(std::string_view name);

// Checks with the user's own privileges that all arguments of --debug-dir are directories.
Result<void> check_debug_directories(const Options& options);
// Does the same for a command that records. Prints a note if --debug-dir is ignored: with file
// capabilities ctprof does not read files that the user selects.
Result<void> check_names(const Options& options);

}  // namespace ctprof::cli
