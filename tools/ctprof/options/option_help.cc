#include "tools/ctprof/options/option_help.hpp"

#include <boost/program_options/value_semantic.hpp>
#include <iterator>
#include <sstream>
#include <string_view>
#include <vector>

namespace ctprof::cli {
namespace {

namespace po = boost::program_options;

// Returns the options with that caption; those without one belong to the last.
std::vector<OptionSpec> options_below(const CommandInfo& command, std::string_view caption) {
  std::vector<OptionSpec> found;
  for (const OptionSpec& option : command.options)
    if ((option.caption ? option.caption : command.captions.back()) == caption)
      found.push_back(option);
  return found;
}

}  // namespace

po::options_description describe_options(std::span<const OptionSpec> options,
                                         const std::string& caption) {
  po::options_description description(caption);
  for (const OptionSpec& option : options)
    if (option.value)
      description.add_options()(option.name,
                                po::value<std::vector<std::string>>()->value_name(option.value),
                                option.help);
    else
      description.add_options()(option.name, option.help);
  return description;
}

std::string options_help(const CommandInfo& command) {
  std::ostringstream text;
  if (command.captions.empty()) text << describe_options(command.options, "Options");
  for (const std::string_view caption : command.captions)
    text << (text.tellp() > 0 ? "\n" : "")
         << describe_options(options_below(command, caption), std::string(caption));
  return text.str();
}

}  // namespace ctprof::cli
