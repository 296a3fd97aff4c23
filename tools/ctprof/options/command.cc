#include "tools/ctprof/options/command.hpp"

#include <algorithm>

namespace ctprof::cli {

const OptionSpec* find_option(std::span<const OptionSpec> options, std::string_view name) {
  const auto it = std::ranges::find(options, name, long_name);
  return it == options.end() ? nullptr : &*it;
}

const OptionSpec* find_option(CommandSpan commands, std::string_view name) {
  for (const CommandInfo* command : commands)
    if (const OptionSpec* option = find_option(command->options, name)) return option;
  return nullptr;
}

std::vector<const OptionSpec*> list_options(CommandSpan commands) {
  std::vector<const OptionSpec*> all;
  for (const CommandInfo* command : commands)
    for (const OptionSpec& option : command->options)
      if (std::ranges::find(all, long_name(option),
                            [](const OptionSpec* other) { return long_name(*other); }) == all.end())
        all.push_back(&option);
  return all;
}

const CommandInfo* find_command(CommandSpan commands, std::string_view name) {
  const auto it = std::ranges::find(commands, name, &CommandInfo::name);
  return it == commands.end() ? nullptr : *it;
}

}  // namespace ctprof::cli
