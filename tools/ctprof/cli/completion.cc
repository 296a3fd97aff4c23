#include "tools/ctprof/cli/completion.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "completion_files.hpp"
#include "core/base/text.hpp"
#include "core/compare/request/spec.hpp"
#include "core/flame/stack_formats.hpp"
#include "core/output/find_output.hpp"
#include "core/registry/identity.hpp"
#include "core/render/columns.hpp"
#include "tools/ctprof/cli/command_table.hpp"
#include "tools/ctprof/commands/export_options.hpp"
#include "tools/ctprof/commands/export_tables.hpp"
#include "tools/ctprof/fleet/subcommand_table.hpp"
#include "tools/ctprof/runtime/load_plugins.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/privileges.hpp"

namespace ctprof::cli {
namespace {

using Candidates = std::vector<Candidate>;

struct ShellFile {
  std::string_view shell, text;
};
constexpr std::array kShells{ShellFile{"bash", kCtprofBash}, ShellFile{"zsh", kCtprofZsh},
                             ShellFile{"fish", kCtprofFish}};

const Candidate kCompleteFiles{":files"}, kCompleteDirectories{":directories"};

Candidates as_candidates(const std::vector<std::string>& words) {
  Candidates found;
  for (const std::string& word : words) found.push_back({word});
  return found;
}

// Returns the first sentence, or a part of it.
std::string first_sentence_part(std::string_view text) {
  return std::string(text.substr(0, std::min(text.find_first_of(".;:("), std::size_t{72})));
}

// --- names that plugins define

Result<Registry> load_registry_quietly() {
  CommonOptions options;
  options.quiet = true;
  return load_registry(options);
}

Candidates metric_candidates() {
  Candidates found;
  const auto registry = load_registry_quietly();
  if (!registry) return found;
  for (const MetricDef& metric : registry->vocabulary().metrics)
    if (!metric.is_hidden) found.push_back({metric.name, first_sentence_part(metric.description)});
  for (const DerivedDef& derived : registry->derived_metrics())
    found.push_back({derived.name, first_sentence_part(derived.description)});
  return found;
}

Candidates section_candidates() {
  std::set<std::string> names{"stacks"};
  if (const auto registry = load_registry_quietly()) {
    for (const MetricDef& metric : registry->vocabulary().metrics) names.insert(metric.section);
    for (const DerivedDef& derived : registry->derived_metrics()) names.insert(derived.section);
  }
  return as_candidates({names.begin(), names.end()});
}

bool has_recorder(const Plugin& plugin) {
  return std::ranges::any_of(plugin.sources, [](const SourceTable& source) {
    return source.table.stage == CTPROF_STAGE_RECORD;
  });
}

Candidates plugin_candidates(bool recorders_only) {
  Candidates found;
  if (const auto registry = load_registry_quietly())
    for (const Plugin& plugin : registry->plugins())
      if (!plugin.is_layout && (!recorders_only || has_recorder(plugin)))
        found.push_back({plugin.name, first_sentence_part(plugin.description)});
  return found;
}

Candidates plugin_option_candidates() {
  Candidates found;
  if (const auto registry = load_registry_quietly())
    for (const Plugin& plugin : registry->plugins())
      for (const PluginOption& option : plugin.options)
        found.push_back(
            {plugin.name + "." + option.key + "=", first_sentence_part(option.description)});
  return found;
}

Candidates concatenate(Candidates found, Candidates more) {
  std::ranges::move(more, std::back_inserter(found));
  return found;
}

Candidates axis_candidates(std::string_view) {
  Candidates found = as_candidates(axis_words());
  if (const auto registry = load_registry_quietly())
    for (const MetricDef& metric : registry->vocabulary().metrics)
      if (metric.entity == Entity::Process && metric.storage == Storage::String)
        found.push_back({metric.name, first_sentence_part(metric.description)});
  return found;
}

Candidates entity_candidates(std::string_view) {
  Candidates found;
  if (const auto registry = load_registry_quietly())
    for (const PluginEntity& entity : registry->entities())
      found.push_back({std::string(name(entity.entity)),
                       first_sentence_part(entity.lister->entity_description)});
  return found;
}

ReportKind report_kind(std::string_view command) {
  return command == "show" ? ReportKind::Show : ReportKind::Compare;
}

Candidates output_candidates() { return as_candidates(list_outputs({own_output_directory(), {}})); }

Candidates export_form_candidates() {
  Candidates found =
      concatenate(as_candidates(table_export_names()), {{"ktstr"}, {"columns"}, {"denet"}});
  for (const StackFormat& form : get_stack_formats())
    found.push_back({std::string(form.name), std::string(form.readers)});
  return concatenate(std::move(found), output_candidates());
}

// --- values of options

struct ValueSource {
  std::string_view options;  // of the table of options
  Candidates (*find_values)(std::string_view command);
};

// Sources for values of options that are neither files, directories nor words listed in the table
// of options. To add one, add a line.
constexpr std::array kValueSources{
    ValueSource{"metrics,metric", [](std::string_view) { return metric_candidates(); }},
    ValueSource{"sections", [](std::string_view) { return section_candidates(); }},
    ValueSource{"plugins", [](std::string_view) { return plugin_candidates(false); }},
    ValueSource{"recorders", [](std::string_view) { return plugin_candidates(true); }},
    ValueSource{"set", [](std::string_view) { return plugin_option_candidates(); }},
    ValueSource{"group-by", axis_candidates},
    ValueSource{"entity", entity_candidates},
    ValueSource{"columns",
                [](std::string_view command) {
                  return as_candidates(get_column_words(report_kind(command)));
                }},
    ValueSource{"display-format",
                [](std::string_view) { return as_candidates(get_display_format_words()); }},
    ValueSource{"sort-by",
                [](std::string_view command) {
                  return concatenate(as_candidates(sort_words(report_kind(command))),
                                     metric_candidates());
                }},
    ValueSource{"emit", [](std::string_view) { return output_candidates(); }},
    ValueSource{"to", [](std::string_view) { return export_form_candidates(); }},
    ValueSource{"rows", [](std::string_view) { return as_candidates(list_row_kinds()); }},
};

// Splits "a|b|c" from the table of options.
Candidates choice_candidates(std::string_view value) {
  Candidates found;
  if (value.find('|') != value.npos)
    for (const std::string_view word : split(value, '|')) found.push_back({std::string(word)});
  return found;
}

Candidates value_candidates(const OptionSpec& option, std::string_view command) {
  const std::string_view value = option.value;
  if (value == "FILE") return {kCompleteFiles};
  if (value == "DIR") return {kCompleteDirectories};
  for (const ValueSource& source : kValueSources)
    if (is_listed(source.options, long_name(option))) return source.find_values(command);
  return choice_candidates(value);
}

// Prepends `head` to each candidate, except to ":files" and ":directories".
Candidates with_prefix(std::string_view head, Candidates found) {
  for (Candidate& candidate : found)
    if (!candidate.word.starts_with(':')) candidate.word.insert(0, head);
  return found;
}

// For an option that takes a list, completes the last entry of "a,b,c".
Candidates complete_value(const OptionSpec& option, std::string_view command,
                          std::string_view typed_text) {
  const bool is_list = std::string_view(option.value).ends_with(",...");
  const auto comma = is_list ? typed_text.rfind(',') : typed_text.npos;
  const std::string_view head = comma == typed_text.npos ? "" : typed_text.substr(0, comma + 1);
  return with_prefix(head, value_candidates(option, command));
}

// --- the words of a command line

// Returns the option that the word names ("--output", "-o"), or null.
const OptionSpec* find_option_by_word(std::string_view word) {
  for (const OptionSpec* option : list_options(all_commands())) {
    const std::string_view name = option->name;
    const std::string_view brief = name.substr(long_name(*option).size());  // ",o"
    if (word == "--" + std::string(long_name(*option)) ||
        (!brief.empty() && word == "-" + std::string(brief.substr(1))))
      return option;
  }
  return nullptr;
}

bool takes_value(const OptionSpec* option) { return option && option->value; }

// Returns the first word that is neither an option nor an option's value, or an empty string.
std::string_view find_command_word(std::span<const std::string> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with('-')) return words[i];
    if (takes_value(find_option_by_word(words[i]))) ++i;
  }
  return {};
}

Candidates option_candidates(std::string_view command) {
  Candidates found;
  const CommandInfo* const known = find_command(all_commands(), command);
  const CommandSpan commands =
      command.empty() ? all_commands() : CommandSpan(&known, known ? 1 : 0);
  for (const OptionSpec* option : list_options(commands))
    found.push_back({"--" + std::string(long_name(*option)), first_sentence_part(option->help)});
  return found;
}

Candidates command_candidates() {
  Candidates found{{"help", "describe a command or a metric"}};
  for (const CommandInfo* command : command_table())
    found.push_back({std::string(command->name), std::string(command->summary)});
  return found;
}

Candidates argument_candidates(std::string_view command) {
  if (command == "help") return concatenate(command_candidates(), metric_candidates());
  Candidates shells;
  for (const ShellFile& file : kShells) shells.push_back({std::string(file.shell)});
  if (command == "completion") return shells;
  if (command == "fleet") {
    Candidates questions{kCompleteFiles};
    for (const FleetSubcommand& question : fleet_subcommands())
      questions.push_back({std::string(question.name), std::string(question.summary)});
    return questions;
  }
  const CommandInfo* command_info = find_command(command);
  return command_info && command_info->max_arguments > 0 ? Candidates{kCompleteFiles}
                                                         : Candidates{};
}

Candidates all_candidates(std::span<const std::string> words) {
  const std::string_view typed_text = words.back();
  const auto before = words.first(words.size() - 1);
  const std::string_view command = find_command_word(before);
  if (std::ranges::find(before, "--") != before.end()) return {kCompleteFiles};
  if (const auto equals = typed_text.find('=');
      typed_text.starts_with("--") && equals != typed_text.npos) {
    const OptionSpec* option = find_option_by_word(typed_text.substr(0, equals));
    return takes_value(option)
               ? with_prefix(typed_text.substr(0, equals + 1),
                             complete_value(*option, command, typed_text.substr(equals + 1)))
               : Candidates{};
  }
  if (const OptionSpec* option = before.empty() ? nullptr : find_option_by_word(before.back());
      takes_value(option))
    return complete_value(*option, command, typed_text);
  if (typed_text.starts_with('-')) return option_candidates(command);
  return command.empty() ? command_candidates() : argument_candidates(command);
}

}  // namespace

std::vector<Candidate> find_candidates(std::span<const std::string> words) {
  if (words.empty()) return {};
  Candidates found = all_candidates(words);
  std::erase_if(found, [&](const Candidate& candidate) {
    return !candidate.word.starts_with(':') && !candidate.word.starts_with(words.back());
  });
  return found;
}

int run_complete(std::span<const char* const> words) {
  if (auto dropped = drop_privileges(); !dropped) return fail(dropped.error());
  const std::vector<std::string> arguments(words.begin(), words.end());
  std::string text;
  for (const Candidate& candidate : find_candidates(arguments))
    text +=
        candidate.word + (candidate.description.empty() ? "" : "\t" + candidate.description) + "\n";
  return print(text);
}

namespace {

constexpr auto kCompletionOptions = option_list<CommonOptions>(kVerbose, kScreen, kQuietAndHelp);

int run_completion(const CommonOptions& options) {
  const std::string shell = options.arguments.empty() ? "" : options.arguments.front();
  std::vector<std::string> shells;
  for (const ShellFile& file : kShells) {
    if (file.shell == shell) return print(file.text);
    shells.emplace_back(file.shell);
  }
  if (shell.empty())
    return fail("missing SHELL (choose " + join_texts(shells) +
                "), as in: source <(ctprof completion bash)");
  return fail("no completion exists for '" + shell + "' (choose " + join_texts(shells) + ")" +
              suggest_nearest(shell, shells));
}

}  // namespace

extern constinit const CommandInfo kCompletionCommand = make_command<CommonOptions, run_completion>(
    {.name = "completion",
     .arguments = "SHELL",
     .summary = "print the completion script for bash, zsh or fish",
     .example = "source <(ctprof completion bash)",
     .max_arguments = 1},
    kCompletionOptions);

}  // namespace ctprof::cli
