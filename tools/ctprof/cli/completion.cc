#include "tools/ctprof/cli/completion.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "completion_files.hpp"
#include "core/base/text.hpp"
#include "core/compare/asked/spec.hpp"
#include "core/flame/stack_forms.hpp"
#include "core/registry/identity.hpp"
#include "core/render/columns.hpp"
#include "tools/ctprof/cli/command_table.hpp"
#include "tools/ctprof/commands/export_tables.hpp"
#include "tools/ctprof/fleet/fleet.hpp"
#include "tools/ctprof/fleet/questions.hpp"
#include "tools/ctprof/options/option_table.hpp"
#include "tools/ctprof/options/settings.hpp"
#include "tools/ctprof/options/table_options.hpp"
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

Candidates plain(const std::vector<std::string>& words) {
  Candidates found;
  for (const std::string& word : words) found.push_back({word});
  return found;
}

// Returns the first sentence, or a part of it.
std::string first_part(std::string_view text) {
  return std::string(text.substr(0, std::min(text.find_first_of(".;:("), std::size_t{72})));
}

// --- names that plugins define

Result<Registry> quiet_registry() {
  Options options;
  options.quiet = true;
  return load_registry(options);
}

Candidates metrics() {
  Candidates found;
  const auto registry = quiet_registry();
  if (!registry) return found;
  for (const MetricDef& metric : registry->vocabulary().metrics)
    if (!metric.hidden) found.push_back({metric.name, first_part(metric.description)});
  for (const DerivedDef& derived : registry->derived())
    found.push_back({derived.name, first_part(derived.description)});
  return found;
}

Candidates sections() {
  std::set<std::string> names{"stacks"};
  if (const auto registry = quiet_registry()) {
    for (const MetricDef& metric : registry->vocabulary().metrics) names.insert(metric.section);
    for (const DerivedDef& derived : registry->derived()) names.insert(derived.section);
  }
  return plain({names.begin(), names.end()});
}

bool records(const Plugin& plugin) {
  return std::ranges::any_of(plugin.sources, [](const SourceTable& source) {
    return source.table.stage == CTPROF_STAGE_RECORD;
  });
}

Candidates plugin_names(bool recorders_alone) {
  Candidates found;
  if (const auto registry = quiet_registry())
    for (const Plugin& plugin : registry->plugins())
      if (!plugin.layout && (!recorders_alone || records(plugin)))
        found.push_back({plugin.name, first_part(plugin.description)});
  return found;
}

Candidates plugin_options() {
  Candidates found;
  if (const auto registry = quiet_registry())
    for (const Plugin& plugin : registry->plugins())
      for (const PluginOption& option : plugin.options)
        found.push_back({plugin.name + "." + option.key + "=", first_part(option.description)});
  return found;
}

Candidates with(Candidates found, Candidates more) {
  std::ranges::move(more, std::back_inserter(found));
  return found;
}

Candidates groups(std::string_view) {
  Candidates found = plain(axis_words());
  if (const auto registry = quiet_registry())
    for (const MetricDef& metric : registry->vocabulary().metrics)
      if (metric.entity == Entity::Process && metric.storage == Storage::String)
        found.push_back({metric.name, first_part(metric.description)});
  return found;
}

ReportKind kind_of(std::string_view verb) {
  return verb == "show" ? ReportKind::Show : ReportKind::Compare;
}

Candidates forms() {
  Candidates found = with(plain(table_export_names()), {{"ktstr"}, {"columns"}, {"denet"}});
  for (const StackForm& form : stack_forms())
    found.push_back({std::string(form.name), std::string(form.what)});
  return found;
}

// --- values of options

struct ValueSource {
  std::string_view options;  // of the table of options
  Candidates (*of)(std::string_view verb);
};

// Sources for values of options that are neither files, directories nor words listed in the table
// of options. To add one, add a line.
constexpr std::array kValues{
    ValueSource{"metrics,metric", [](std::string_view) { return metrics(); }},
    ValueSource{"sections", [](std::string_view) { return sections(); }},
    ValueSource{"plugins", [](std::string_view) { return plugin_names(false); }},
    ValueSource{"recorders", [](std::string_view) { return plugin_names(true); }},
    ValueSource{"set", [](std::string_view) { return plugin_options(); }},
    ValueSource{"group-by", groups},
    ValueSource{"columns",
                [](std::string_view verb) { return plain(column_words(kind_of(verb))); }},
    ValueSource{"display-format", [](std::string_view) { return plain(display_format_words()); }},
    ValueSource{
        "sort-by",
        [](std::string_view verb) { return with(plain(sort_words(kind_of(verb))), metrics()); }},
    ValueSource{"to", [](std::string_view) { return forms(); }},
    ValueSource{"rows", [](std::string_view) { return plain(row_words()); }},
};

// Splits "a|b|c" from the table of options.
Candidates choices_in(std::string_view value) {
  Candidates found;
  if (value.find('|') != value.npos)
    for (const std::string_view word : split(value, '|')) found.push_back({std::string(word)});
  return found;
}

Candidates values_of(const OptionInfo& option, std::string_view verb) {
  const std::string_view value = option.value;
  if (value == "FILE") return {kCompleteFiles};
  if (value == "DIR") return {kCompleteDirectories};
  for (const ValueSource& source : kValues)
    if (is_listed(source.options, long_name(option))) return source.of(verb);
  return choices_in(value);
}

// Prepends `head` to each candidate, except to ":files" and ":directories".
Candidates behind(std::string_view head, Candidates found) {
  for (Candidate& candidate : found)
    if (!candidate.word.starts_with(':')) candidate.word.insert(0, head);
  return found;
}

// For an option that takes a list, completes the last entry of "a,b,c".
Candidates completed(const OptionInfo& option, std::string_view verb, std::string_view typed) {
  const bool is_list = std::string_view(option.value).ends_with(",...");
  const auto comma = is_list ? typed.rfind(',') : typed.npos;
  const std::string_view head = comma == typed.npos ? "" : typed.substr(0, comma + 1);
  return behind(head, values_of(option, verb));
}

// --- the words of a command line

// Returns the option that the word names ("--output", "-o"), or null.
const OptionInfo* option_of(std::string_view word) {
  for (const OptionInfo& option : kOptions) {
    const std::string_view name = option.name;
    const std::string_view brief = name.substr(long_name(option).size());  // ",o"
    if (word == "--" + std::string(long_name(option)) ||
        (!brief.empty() && word == "-" + std::string(brief.substr(1))))
      return &option;
  }
  return nullptr;
}

bool takes_value(const OptionInfo* option) { return option && option->value; }

// Returns the first word that is neither an option nor an option's value, or an empty string.
std::string_view verb_in(std::span<const std::string> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with('-')) return words[i];
    if (takes_value(option_of(words[i]))) ++i;
  }
  return {};
}

Candidates options_of(std::string_view verb) {
  Candidates found;
  for (const OptionInfo& option : kOptions)
    if (verb.empty() || is_listed(option.verbs, verb))
      found.push_back({"--" + std::string(long_name(option)), first_part(option.help)});
  return found;
}

Candidates verb_names() {
  Candidates found{{"help", "describe a command or a metric"}};
  for (const Verb& verb : verbs())
    found.push_back({std::string(verb.name), std::string(verb.summary)});
  return found;
}

Candidates arguments_of(std::string_view verb) {
  if (verb == "help") return with(verb_names(), metrics());
  Candidates shells;
  for (const ShellFile& file : kShells) shells.push_back({std::string(file.shell)});
  if (verb == "completion") return shells;
  if (verb == "fleet") {
    Candidates questions{kCompleteFiles};
    for (const FleetQuestion& question : fleet_questions())
      questions.push_back({std::string(question.name), std::string(question.what)});
    return questions;
  }
  const Verb* known = find_verb(verb);
  return known && known->most_arguments > 0 ? Candidates{kCompleteFiles} : Candidates{};
}

Candidates all_candidates(std::span<const std::string> words) {
  const std::string_view typed = words.back();
  const auto before = words.first(words.size() - 1);
  const std::string_view verb = verb_in(before);
  if (std::ranges::find(before, "--") != before.end()) return {kCompleteFiles};
  if (const auto equals = typed.find('='); typed.starts_with("--") && equals != typed.npos) {
    const OptionInfo* option = option_of(typed.substr(0, equals));
    return takes_value(option) ? behind(typed.substr(0, equals + 1),
                                        completed(*option, verb, typed.substr(equals + 1)))
                               : Candidates{};
  }
  if (const OptionInfo* option = before.empty() ? nullptr : option_of(before.back());
      takes_value(option))
    return completed(*option, verb, typed);
  if (typed.starts_with('-')) return options_of(verb);
  return verb.empty() ? verb_names() : arguments_of(verb);
}

}  // namespace

std::vector<Candidate> candidates(std::span<const std::string> words) {
  if (words.empty()) return {};
  Candidates found = all_candidates(words);
  std::erase_if(found, [&](const Candidate& candidate) {
    return !candidate.word.starts_with(':') && !candidate.word.starts_with(words.back());
  });
  return found;
}

int run_complete(std::span<const char* const> words) {
  if (auto dropped = drop_privileges(); !dropped) return fail(dropped.error());
  const std::vector<std::string> given(words.begin(), words.end());
  std::string text;
  for (const Candidate& candidate : candidates(given))
    text +=
        candidate.word + (candidate.description.empty() ? "" : "\t" + candidate.description) + "\n";
  return print(text);
}

int run_completion(const Options& options) {
  const std::string given = options.arguments.empty() ? "" : options.arguments.front();
  std::vector<std::string> shells;
  for (const ShellFile& file : kShells) {
    if (file.shell == given) return print(file.text);
    shells.emplace_back(file.shell);
  }
  if (given.empty())
    return fail("missing SHELL (choose " + joined(shells) +
                "), as in: source <(ctprof completion bash)");
  return fail("no completion exists for '" + given + "' (choose " + joined(shells) + ")" +
              nearest_hint(given, shells));
}

}  // namespace ctprof::cli
