// The options of a command in the form that Boost.Program_options parses and prints.

#pragma once

#include <boost/program_options.hpp>
#include <string_view>

namespace ctprof::cli {

// Describes the options of a command, or all options if `command` is empty. `caption` selects one
// help group of record; empty selects all groups.
boost::program_options::options_description describe_options(std::string_view command,
                                                             std::string_view caption = {});

// Returns the options of a command for its help text, or all options if `command` is empty.
std::string options_help(const std::string& command);

}  // namespace ctprof::cli
