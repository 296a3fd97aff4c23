// The options of a verb as Boost.Program_options parses and prints them.

#pragma once

#include <boost/program_options.hpp>
#include <string_view>

namespace ctprof::cli {

// Those that the verb takes; empty: all. `caption`: of one group of record's; empty: all of them.
boost::program_options::options_description describe(std::string_view verb,
                                                     std::string_view caption = {});

// The list of a verb's options for its help text; of all options if `verb` is empty.
std::string options_help(const std::string& verb);

}  // namespace ctprof::cli
