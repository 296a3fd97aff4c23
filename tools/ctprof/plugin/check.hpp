// ctprof plugin check: loads a plugin in a child process and reports its faults.
//
// The child is `ctprof plugin check-child DIRECTORY PATH`. It runs as nobody if the user is root
// and does not pass --as-root, with limits on CPU time and descriptors. This protects ctprof from
// the plugin; it is no sandbox: the plugin can do what that user can do.
//
// Between both is text: the child prints one line for each finding, with its kind in front. What
// the plugin itself prints, or ctprof about a crash, arrives on standard error.

#pragma once

#include <string_view>

namespace ctprof::cli {

struct Options;

// Kinds of lines.
inline constexpr std::string_view kFaultLine = "fault: ";
inline constexpr std::string_view kNoteLine = "note: ";
inline constexpr std::string_view kCostLine = "cost: ";
// The last line of a child that was not cut short.
inline constexpr std::string_view kEndLine = "end";

// REQUIRES: options.arguments begins with the subcommand.
int run_plugin_check(const Options& options);
// REQUIRES: called by run_plugin_check, in a process of its own.
int run_plugin_check_child(const Options& options);

}  // namespace ctprof::cli
