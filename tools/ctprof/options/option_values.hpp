// The options of a command line with their values, as Boost.Program_options stores them.

#pragma once

#include <string>
#include <vector>

namespace boost::program_options {
class options_description;
class variables_map;
}  // namespace boost::program_options

namespace ctprof::cli {

using OptionDescriptions = boost::program_options::options_description;
using OptionValues = boost::program_options::variables_map;

bool has_option(const OptionValues& values, const char* option);

// Returns all values in the order of the command line. REQUIRES: has_option(), and the option takes
// a value.
const std::vector<std::string>& all_values(const OptionValues& values, const char* option);
// Returns the last value, which applies if an option takes one value. REQUIRES: as for
// all_values().
const std::string& last_value(const OptionValues& values, const char* option);

// "invalid --color 'alwys' (choose auto, always, never) (did you mean 'always'?)"
Error invalid_choice_error(std::string_view option, std::string_view value,
                           std::span<const std::string> words);
Error invalid_choice_error(std::string_view option, std::string_view value,
                           std::span<const std::string_view> words);

}  // namespace ctprof::cli
