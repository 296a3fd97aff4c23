// The options of a command in the form that Boost.Program_options parses and prints.

#pragma once

#include <boost/program_options/options_description.hpp>
#include <span>
#include <string>

#include "tools/ctprof/options/command.hpp"
#include "tools/ctprof/options/option.hpp"

namespace ctprof::cli {

boost::program_options::options_description describe_options(std::span<const OptionSpec> options,
                                                             const std::string& caption);

// Returns the options of a command for its help text.
std::string options_help(const CommandInfo& command);

}  // namespace ctprof::cli
