#include "tools/ctprof/option_values.hpp"

#include <boost/program_options/variables_map.hpp>

namespace ctprof::cli {

bool has_option(const OptionValues& values, const char* option) { return values.count(option) > 0; }

const std::vector<std::string>& all_values(const OptionValues& values, const char* option) {
  return values[option].as<std::vector<std::string>>();
}

const std::string& last_value(const OptionValues& values, const char* option) {
  return all_values(values, option).back();
}

}  // namespace ctprof::cli
