// Writes files from a window's call stacks: flame graphs, formats of other tools, and the same file
// with more function names.

#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.hpp"
#include "core/flame/stack_formats.hpp"
#include "tools/ctprof/options/common_options.hpp"
#include "tools/ctprof/options/recorder_options.hpp"
#include "tools/ctprof/runtime/privileges.hpp"

namespace ctprof::cli {

struct ExportOptions;

struct StackMetricOption {
  std::string metric{};  // of call stacks; empty: all
};
inline constexpr auto kStackMetric =
    option("metric", "NAME", member<&StackMetricOption::metric>, LastText(),
           "Select one metric of call stacks. Default: all; flame draws the first.");

// Writes the stacks of the file's window in the specified form: those of --metric, or all. Returns
// the number of bytes written.
Result<std::uint64_t> export_stacks(const std::string& file, const StackFormat& form,
                                    const Target& target, const ExportOptions& options);

// Returns the form with that name, or null.
const StackFormat* find_stack_form(std::string_view name);

// Checks with the user's own privileges that all arguments of --debug-dir are directories.
Result<void> check_debug_directories(const NameOptions& names);
// Does the same for a command that records. Prints a note if --debug-dir is ignored: with file
// capabilities ctprof does not read files that the user selects.
Result<void> check_names(const CommonOptions& options, const NameOptions& names);

}  // namespace ctprof::cli
