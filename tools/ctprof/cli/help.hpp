// Help output: the commands, their JSON schemas, and metrics.

#pragma once

#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "tools/ctprof/cli/command_table.hpp"

namespace ctprof::cli {

// Returns the text of `ctprof --help`: one line per command.
std::string overview_text();

// Returns "ctprof show [OPTION...] FILE".
std::string usage_of(const CommandInfo& command);

// Returns the text of `ctprof COMMAND --help`: summary, example, usage, options.
std::string help_of(const CommandInfo& command);

// Implements `ctprof help METRIC [FILE]`: prints the page and returns kSuccess. If no such metric
// exists, fails and suggests the nearest commands and metrics. REQUIRES: options.arguments begins
// with the metric.
int print_metric_help(const CommonOptions& options);

// Prints the JSON schema of a command's output. Fails if the command prints no JSON.
int print_schema(std::string_view command);

// The error for an argument in excess of those that `usage` names.
Error unexpected_argument(const std::string& argument, const std::string& usage);

}  // namespace ctprof::cli
