// What ctprof says about itself: its commands, their JSON, and its metrics.

#pragma once

#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "tools/ctprof/cli/command_table.hpp"

namespace ctprof::cli {

// `ctprof --help`: the commands, one line each.
std::string overview();

// "ctprof show [OPTION...] FILE"
std::string usage_of(const Verb& verb);

// `ctprof VERB --help`: summary, example, usage, options.
std::string help_of(const Verb& verb);

// `ctprof help METRIC [FILE]`. Prints the page and returns kFine, or fails with the nearest
// commands and metrics if there is no such metric. REQUIRES: options.arguments begins with the
// metric.
int help_on_metric(const Options& options);

// Prints the JSON schema of a verb's output; fails if the verb prints no JSON.
int print_schema(std::string_view verb);

// The error for an argument beyond those that `usage` names.
Error unexpected_argument(const std::string& argument, const std::string& usage);

}  // namespace ctprof::cli
