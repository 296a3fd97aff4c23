// ctprof doctor: reports what each plugin cannot do on this host, why, and how to enable it.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/text.hpp"
#include "core/capture/roots.hpp"
#include "core/render/terminal_text.hpp"
#include "tools/ctprof/commands/offer_statuses.hpp"
#include "tools/ctprof/options/capture_options.hpp"
#include "tools/ctprof/options/command.hpp"
#include "tools/ctprof/runtime/load_plugins.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/pager.hpp"
#include "tools/ctprof/runtime/setcap.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

// A command to paste, and the improvements that each of its parts brings.
struct AdvisedCommand {
  std::string text;
  std::vector<Gain> gains;
};

struct Advice {
  bool live = true;
  std::vector<Diagnosis> diagnoses;
  std::vector<Gain> gains;
  std::vector<AdvisedCommand> commands;
  std::vector<std::string> notes;  // about commands, including omitted ones
};

// Omits a command that cannot be printed exactly: the pasted text would be another command.
void add_command(Advice& advice, AdvisedCommand command) {
  if (const std::string shown = make_printable(command.text); shown == command.text)
    advice.commands.push_back(std::move(command));
  else
    advice.notes.push_back(
        "a command is left out because it has characters that cannot be printed as they are: " +
        shown);
}

void add_setcap(Advice& advice) {
  AdvisedCommand command;
  std::set<std::string> capabilities;
  for (const Gain& gain : advice.gains)
    if (gain.remedy.kind == CTPROF_REMEDY_CAPABILITIES && !gain.only_for_root)
      capabilities.insert(gain.remedy.text), command.gains.push_back(gain);
  Setcap setcap = setcap_for(capabilities);
  advice.notes = std::move(setcap.notes);
  command.text = std::move(setcap.command);
  if (!command.text.empty()) add_command(advice, std::move(command));
}

// Indexed by ctprof_remedy.
constexpr std::array<std::string_view, 5> kRemedyKinds{"none", "command", "capabilities", "boot",
                                                       "kernel"};

template <class Names>
void put_names(JsonWriter& out, std::string_view key, const Names& names) {
  out.key(key);
  out.put('[');
  for (const std::string& name : names) {
    out.text(name);
    out.put(',');
  }
  out.close(']');
  out.put(',');
}

// Writes "key":[{...},...]. `put` writes the members of each object.
template <class Items, class Put>
void put_objects(JsonWriter& out, std::string_view key, const Items& items, Put put) {
  out.key(key);
  out.put('[');
  for (const auto& item : items) {
    out.put('{');
    put(item);
    out.close('}');
    out.put(',');
  }
  out.close(']');
  out.put(',');
}

void put_remedy(JsonWriter& out, const Remedy& remedy) {
  out.key("remedy");
  if (remedy.kind == CTPROF_REMEDY_NONE) return out.raw("null,");
  out.put('{');
  out.member("kind", kRemedyKinds[remedy.kind]);
  out.member("what", remedy.text);
  out.close('}');
  out.put(',');
}

void put_finding(JsonWriter& out, const Finding& finding) {
  out.member("state", finding.state);
  out.member("reason", finding.reason);
  put_remedy(out, finding.remedy);
  out.member("unfilled", finding.unfilled);
  put_names(out, "metrics", finding.metrics);
}

void put_diagnosis(JsonWriter& out, const Diagnosis& diagnosis) {
  out.member("name", diagnosis.plugin->name);
  out.member("fills", diagnosis.fills);
  out.member("second", diagnosis.filled_by_others);
  out.member("refused", diagnosis.refused);
  put_objects(out, "findings", diagnosis.findings,
              [&](const Finding& finding) { put_finding(out, finding); });
}

void put_gain(JsonWriter& out, const Gain& gain) {
  put_remedy(out, gain.remedy);
  put_names(out, "plugins", gain.plugins);
  put_names(out, "filled", gain.newly_filled);
  put_names(out, "fuller", gain.more_complete);
  put_names(out, "better", gain.better_filled);
}

void put_command(JsonWriter& out, const AdvisedCommand& command) {
  out.member("command", command.text);
  put_objects(out, "gains", command.gains, [&](const Gain& gain) { put_gain(out, gain); });
}

Advice make_advice(const ProbedHost& probed, bool live) {
  Advice advice{.live = live,
                .diagnoses = diagnose(probed),
                .gains = find_gains(probed),
                .commands = {},
                .notes = {}};
  if (!live) return advice;
  add_setcap(advice);
  for (const Gain& gain : advice.gains)
    if (gain.remedy.kind == CTPROF_REMEDY_COMMAND) add_command(advice, {gain.remedy.text, {gain}});
  return advice;
}

std::string json_of(const Advice& advice, const Registry& registry) {
  JsonWriter out(Escape::Unprintable);
  out.raw("{\"schema\":1,\"live\":");
  out.boolean(advice.live);
  out.put(',');
  put_objects(out, "plugins", advice.diagnoses,
              [&](const Diagnosis& diagnosis) { put_diagnosis(out, diagnosis); });
  put_refused_plugins(out, registry);
  put_objects(out, "commands", advice.commands,
              [&](const AdvisedCommand& command) { put_command(out, command); });
  put_names(out, "notes", advice.notes);
  out.close('}');
  out.put('\n');
  return std::string(out.view());
}

// Largest number of names that are listed; `ctprof plugins` lists all.
constexpr std::size_t kMaxListedNames = 8;

// Extra indentation of the second and later lines of a sentence.
constexpr std::size_t kHangingIndent = 4;

// Indexed by ctprof_remedy: the words before the remedy.
constexpr std::array<std::string_view, 5> kRemedyPhrases{
    "", "as root: ", "with the capabilities ",
    "on the kernel's command line: ", "another kernel: "};

std::string summarize_diagnosis(const Diagnosis& diagnosis) {
  std::string text = diagnosis.plugin->name + ": fills " + format_count(diagnosis.fills, "metric");
  if (const std::size_t others = diagnosis.filled_by_others - diagnosis.on_request; others > 0)
    text += "; another source fills " + std::to_string(others) + " better";
  if (diagnosis.on_request > 0)
    text += "; records " + std::to_string(diagnosis.on_request) + " on request";
  if (diagnosis.refused > 0) text += "; " + std::to_string(diagnosis.refused) + " unavailable";
  return make_printable(text) + "\n";
}

// Commands are not wrapped.
std::string text_of(const Remedy& remedy, std::size_t width) {
  if (remedy.kind == CTPROF_REMEDY_NONE) return {};
  const std::string text = std::string(kRemedyPhrases[remedy.kind]) + remedy.text;
  return remedy.kind == CTPROF_REMEDY_COMMAND ? "    -> " + make_printable(text) + "\n"
                                              : wrap_words("-> " + text, 4, width, kHangingIndent);
}

std::string text_of(const Finding& finding, std::size_t width) {
  const std::size_t all = finding.metrics.size(), others = all - finding.unfilled;
  std::string head = finding.state + ", " + format_count(all, "metric");
  if (finding.state != kPartlyFilled && others > 0)
    head += others == all ? " that another source fills"
                          : " (another source fills " + std::to_string(others) + " of them)";
  std::string text = wrap_words(head + ": " + finding.reason, 2, width, kHangingIndent);
  if (all <= kMaxListedNames) text += wrap_words(finding.metrics, 4, width);
  return text + text_of(finding.remedy, width);
}

// Describes the improvement that a remedy brings.
std::string text_of(const Gain& gain) {
  std::string text;
  const auto add = [&](std::size_t number, const char* suffix) {
    if (number > 0)
      text += (text.empty() ? "" : ", ") + format_count(number, "metric") + " " + suffix;
  };
  add(gain.newly_filled.size(), "that no plugin provides here");
  add(gain.more_complete.size(), "with fewer gaps");
  add(gain.better_filled.size(), "from a better source");
  return text + " (" + join_texts(gain.plugins) + ")";
}

// Prints everything except the command as shell comments, so that the whole text can be pasted.
std::string text_of(const AdvisedCommand& command) {
  std::string text = make_printable(command.text) + "\n";
  for (const Gain& gain : command.gains) {
    const bool is_part = gain.remedy.kind == CTPROF_REMEDY_CAPABILITIES;
    text +=
        "  # " + make_printable((is_part ? gain.remedy.text + ": " : "") + text_of(gain)) + "\n";
  }
  return text;
}

std::string text_of_commands(const Advice& advice) {
  std::string text;
  for (const AdvisedCommand& command : advice.commands) text += text_of(command);
  if (!text.empty()) text = "Commands for root, and the metrics that they enable:\n\n" + text;
  for (const std::string& note : advice.notes)
    text += (text.empty() ? "" : "  ") + ("# " + make_printable(note)) + "\n";
  return text;
}

std::string describe_last_step(const Advice& advice) {
  if (advice.gains.empty()) return "No missing metric can be enabled.\n";
  if (!advice.live) return "The tree is a recording: the remedies above are for its host.\n";
  const std::string commands = text_of_commands(advice);
  return commands.empty() ? "No command makes more data available; see the remedies above.\n"
                          : commands;
}

// Returns the number of metrics that capabilities would enable for a user who is not root, if sudo
// can grant them.
std::size_t count_metrics_enabled_by_sudo(const Advice& advice) {
  std::set<std::string> filled;
  for (const Gain& gain : advice.gains)
    if (gain.remedy.kind == CTPROF_REMEDY_CAPABILITIES && sudo_would_grant(gain.remedy.text))
      filled.insert(gain.newly_filled.begin(), gain.newly_filled.end());
  return ::geteuid() == 0 ? 0 : filled.size();
}

// Returns the command that enables most metrics, or states that there is none.
std::string best_command_text(const Advice& advice) {
  const auto filled_by = [](const AdvisedCommand& command) {
    std::size_t filled = 0;
    for (const Gain& gain : command.gains) filled += gain.newly_filled.size();
    return filled;
  };
  if (!advice.live || advice.diagnoses.empty()) return {};
  const auto best = std::ranges::max_element(advice.commands, {}, filled_by);
  if (best == advice.commands.end()) {
    const std::size_t enabled_by_sudo = count_metrics_enabled_by_sudo(advice);
    return enabled_by_sudo == 0 ? "nothing to do: no command would enable more metrics\n\n"
                                : "run as root: sudo ctprof  # enables " +
                                      format_count(enabled_by_sudo, "metric") + "\n\n";
  }
  return "as root: " + make_printable(best->text) +
         "  # enables most: " + format_count(filled_by(*best), "metric") + "\n\n";
}

std::string text_of(const Advice& advice, const Registry& registry) {
  std::string text = best_command_text(advice);
  for (const Diagnosis& diagnosis : advice.diagnoses) {
    text += summarize_diagnosis(diagnosis);
    for (const Finding& finding : diagnosis.findings) text += text_of(finding, text_width());
    text += "\n";
  }
  text += format_refused_plugins(registry);
  return advice.diagnoses.empty() ? text + "no plugin is loaded\n"
                                  : text + describe_last_step(advice);
}

struct DoctorOptions : CommonOptions, RootfsOption {};

constexpr auto kDoctorOptions = option_list<DoctorOptions>(
    kVerbose, kScreenAndSchema, kPluginChoice, kSet, kRootfs, kQuietAndHelp);

int run_doctor(const DoctorOptions& options) {
  const auto roots = open_roots(options.rootfs);
  if (!roots) return fail(roots.error());
  const auto registry = load_registry(options);
  if (!registry) return fail(registry.error());
  const ProbedHost probed(*registry, roots->host(), RecorderSelection::All);
  note_unused(options, probed.failures());
  const Advice advice = make_advice(probed, roots->is_live);
  return options.format == Format::Json ? print(json_of(advice, *registry))
                                        : print_paged(options, text_of(advice, *registry));
}

}  // namespace

extern constinit const CommandInfo kDoctorCommand = make_command<DoctorOptions, run_doctor>(
    {.name = "doctor",
     .similar_names = "check,diagnose,probe,setup",
     .summary = "report which metrics this host cannot provide, and how to enable them",
     .example = "ctprof doctor",
     .reads_kernel = true},
    kDoctorOptions);

}  // namespace ctprof::cli
