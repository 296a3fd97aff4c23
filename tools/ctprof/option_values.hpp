// The options of a command line with their values, as Boost.Program_options has them.

#pragma once

namespace boost::program_options {
class variables_map;
}

namespace ctprof::cli {

using OptionValues = boost::program_options::variables_map;

}  // namespace ctprof::cli
