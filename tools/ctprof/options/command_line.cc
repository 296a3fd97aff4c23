#include "tools/ctprof/options/command_line.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "core/base/text.hpp"
#include "tools/ctprof/options/input_options.hpp"
#include "tools/ctprof/options/option_help.hpp"
#include "tools/ctprof/options/settings.hpp"

namespace ctprof::cli {
namespace {

namespace po = boost::program_options;

Error unknown_option_error(const std::string& word, CommandSpan commands) {
  std::vector<std::string> names;
  for (const OptionSpec* option : list_options(commands))
    names.push_back("--" + std::string(long_name(*option)));
  return {"unknown option '" + word + "'" + suggest_nearest(word, names)};
}

// Reports an option directly after --vs as an error: --vs requires a file.
Result<void> check_vs(std::span<const char* const> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (std::string_view(words[i]) != "--vs") continue;
    const std::string_view next = i + 1 < words.size() ? words[i + 1] : "--";
    if (next == "--vs") return Error{"no file between --vs and --vs"};
    if (next.starts_with("--")) return missing_side_error();
  }
  return {};
}

// Adds an argument to its side: before the first --vs, or after one of them. The first word is the
// command.
void add_word(CommandLine& line, bool& has_command, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (!std::exchange(has_command, true))
      line.command = word;
    else
      (line.sides.empty() ? line.arguments : line.sides.back()).push_back(word);
  }
}

CommandLine sort_words(const po::parsed_options& parsed) {
  CommandLine line;
  bool has_command = false;
  for (const auto& option : parsed.options) {
    if (option.position_key >= 0) {
      add_word(line, has_command, option.value);
      continue;
    }
    std::vector<std::string>& values = line.values[option.string_key];
    values.insert(values.end(), option.value.begin(), option.value.end());
    line.typed.insert(option.string_key);
    if (option.string_key == "vs") line.sides.push_back(option.value);
  }
  return line;
}

// Accepts the options of all commands, since the command can be the last word.
Result<CommandLine> split_words(std::span<const char* const> words, CommandSpan commands) {
  CTPROF_TRY(check_vs(words));
  std::vector<OptionSpec> options;
  for (const OptionSpec* option : list_options(commands)) options.push_back(*option);
  po::options_description all = describe_options(options, "Options");
  all.add_options()("words", po::value<std::vector<std::string>>());
  po::positional_options_description positional;
  positional.add("words", -1);
  try {
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    const auto parsed = po::command_line_parser(static_cast<int>(words.size()), words.data())
                            .options(all)
                            .positional(positional)
                            .style(style)
                            .run();
    po::variables_map checked_values;
    po::store(parsed, checked_values);
    return sort_words(parsed);
  } catch (const po::unknown_option& exception) {
    return unknown_option_error(exception.get_option_name(), commands);
  } catch (const po::error& exception) {
    return Error{exception.what()};
  }
}

// After `--` is a command with options of its own, or words that are not options.
Result<CommandLine> split_command_line(std::span<const char* const> words, CommandSpan commands) {
  const auto end =
      std::ranges::find_if(words, [](const char* word) { return std::string_view(word) == "--"; });
  if (end == words.end()) return split_words(words, commands);
  auto line = split_words({words.begin(), end}, commands);
  const CommandInfo* const command = line ? find_command(commands, line->command) : nullptr;
  if (!command || !command->takes_child_command) return split_words(words, commands);
  if (end + 1 == words.end()) return Error{"missing command after --"};
  line->child_command.assign(end + 1, words.end());
  return line;
}

// Rejects options that the command does not take.
Result<void> check_command_takes_options(const CommandInfo& command, const CommandLine& line,
                                         CommandSpan commands) {
  for (const OptionSpec* option : list_options(commands))
    if (line.has(long_name(*option)) && !find_option(command.options, long_name(*option)))
      return Error{"'" + std::string(command.name) + "' does not take --" +
                   std::string(long_name(*option))};
  return {};
}

Result<void> read_option(const OptionSpec& option, const CommandLine& line,
                         CommonOptions& options) {
  const auto use = line.values.find(long_name(option));
  if (use == line.values.end()) return {};
  if (option.required_option && !line.has(option.required_option))
    return Error{"--" + use->first + " requires " + option.requirement};
  return option.read({use->first, use->second, line}, option.find_group(options));
}

// A command without options, such as fleet, parses its arguments itself.
Result<ParsedCommand> read_options(const CommandLine& line, CommandSpan commands) {
  const CommandInfo& unnamed = *find_command(commands, "");
  const CommandInfo* const found = find_command(commands, line.command);
  const CommandInfo& command = found ? *found : unnamed;
  const bool has_options = &command != &unnamed && !command.options.empty();
  if (has_options) CTPROF_TRY(check_command_takes_options(command, line, commands));
  const auto options = command.make_options();
  options->command_name = line.command;
  options->arguments = line.arguments;
  for (const OptionSpec& option : has_options ? command.options : unnamed.options)
    CTPROF_TRY(read_option(option, line, *options));
  if (has_options && options->format == Format::Csv && !command.prints_csv)
    return Error{"'" + line.command + "' has no csv; use --format json"};
  CTPROF_TRY(command.check(line, *options));
  return ParsedCommand{&command, options};
}

}  // namespace

Result<ParsedCommand> parse_command_line(int argc, const char* const* argv, CommandSpan commands,
                                         const std::vector<SettingsSource>& settings) {
  CTPROF_TRY_VALUE(auto line, split_command_line({argv, static_cast<std::size_t>(argc)}, commands));
  // `ctprof --version` is `ctprof version`.
  if (line.command.empty() && !line.has("help") && line.values.erase("version") > 0)
    line.command = "version";
  if (const CommandInfo* command = find_command(commands, line.command))
    add_settings(*command, settings, line);
  return read_options(line, commands);
}

}  // namespace ctprof::cli
