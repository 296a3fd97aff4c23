#include "tools/ctprof/options/option_values.hpp"
#include "core/base/text.hpp"

#include <boost/program_options/variables_map.hpp>

namespace ctprof::cli {

bool has_option(const OptionValues& values, const char* option) { return values.count(option) > 0; }

const std::vector<std::string>& all_values(const OptionValues& values, const char* option) {
  return values[option].as<std::vector<std::string>>();
}

const std::string& last_value(const OptionValues& values, const char* option) {
  return all_values(values, option).back();
}

Error invalid_choice_error(std::string_view option, std::string_view value,
                           std::span<const std::string> words) {
  return {"invalid --" + std::string(option) + " '" + std::string(value) + "' (choose " +
          join_texts(words) + ")" + suggest_nearest(value, words)};
}

Error invalid_choice_error(std::string_view option, std::string_view value,
                           std::span<const std::string_view> words) {
  return invalid_choice_error(option, value, std::vector<std::string>(words.begin(), words.end()));
}

}  // namespace ctprof::cli
