// ctprof doctor: what each plugin cannot do here, why, and what would change that.
//
// Of a recorded tree all is told but commands: they would be for another host than this.

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/capture/roots.hpp"
#include "core/file/json_out.hpp"
#include "core/render/printable.hpp"
#include "tools/ctprof/findings.hpp"
#include "tools/ctprof/setcap.hpp"
#include "tools/ctprof/text.hpp"
#include "tools/ctprof/verbs.hpp"
#include "tools/ctprof/verdicts.hpp"

namespace ctprof::cli {
namespace {

// So many names are told; `ctprof plugins` has all.
constexpr std::size_t kFewNames = 8;

// By ctprof_remedy: in JSON, and before what it is.
struct Kind {
  std::string_view word;
  std::string_view phrase;
};
constexpr std::array kKinds{Kind{"none", ""}, Kind{"command", "as root: "}, Kind{"capabilities", "with the capabilities "},
                            Kind{"boot", "on the kernel's command line: "}, Kind{"kernel", "another kernel: "}};
const Kind& kind_of(const Remedy& remedy) { return kKinds[remedy.kind]; }

// A command that can be pasted, and what each of its parts can bring.
struct Command {
  std::string text;
  std::vector<Gain> gains;
};

struct Report {
  bool live = true;
  std::vector<Diagnosis> diagnoses;
  std::vector<Gain> gains;
  std::vector<Command> commands;
  std::vector<std::string> notes;  // on commands, and on those that are not there
};

void add_setcap(Report& report) {
  Command command;
  std::set<std::string> wanted;
  for (const Gain& gain : report.gains)
    if (gain.remedy.kind == CTPROF_REMEDY_CAPABILITIES) wanted.insert(gain.remedy.what), command.gains.push_back(gain);
  Setcap setcap = setcap_for(wanted);
  report.notes = std::move(setcap.notes);
  command.text = std::move(setcap.command);
  if (!command.text.empty()) report.commands.push_back(std::move(command));
}

Report report_of(const Registry& registry, bool live) {
  Report report{.live = live, .diagnoses = diagnose(registry), .gains = gains(registry), .commands = {}, .notes = {}};
  if (!live) return report;
  add_setcap(report);
  for (const Gain& gain : report.gains)
    if (gain.remedy.kind == CTPROF_REMEDY_COMMAND) report.commands.push_back({gain.remedy.what, {gain}});
  return report;
}

// ---- text

std::string joined(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string state_of(const Diagnosis& diagnosis) {
  std::string text = diagnosis.plugin->name + ": fills " + count(diagnosis.fills, "metric");
  if (diagnosis.second > 0) text += "; another source fills " + std::to_string(diagnosis.second) + " better";
  if (diagnosis.refused > 0) text += "; " + std::to_string(diagnosis.refused) + " cannot be had from it";
  return printable(text) + "\n";
}

std::string text_of(const Finding& finding, std::size_t width) {
  const std::size_t all = finding.metrics.size(), others = all - finding.unfilled;
  std::string head = finding.state + ", " + count(all, "metric");
  if (finding.state != kInPart && others > 0)
    head += others == all ? " that another source fills" : " (" + std::to_string(others) + " of them another source fills)";
  std::string text = "  " + printable(head + ": " + finding.reason) + "\n";
  if (all <= kFewNames) text += wrapped(finding.metrics, 4, width);
  if (finding.remedy.kind != CTPROF_REMEDY_NONE)
    text += "    -> " + printable(std::string(kind_of(finding.remedy).phrase) + finding.remedy.what) + "\n";
  return text;
}

// What a remedy can bring, in a phrase.
std::string text_of(const Gain& gain) {
  std::string text;
  const auto add = [&](std::size_t number, const char* which) {
    if (number > 0) text += (text.empty() ? "" : ", ") + count(number, "metric") + " " + which;
  };
  add(gain.filled.size(), "that nothing fills now");
  add(gain.fuller.size(), "with fewer gaps");
  add(gain.better.size(), "from a better source");
  return text + " (" + joined(gain.plugins) + ")";
}

// What is not the command is a comment, so that all can be pasted.
std::string text_of(const Command& command) {
  std::string text = printable(command.text) + "\n";
  for (const Gain& gain : command.gains) {
    const bool is_part = gain.remedy.kind == CTPROF_REMEDY_CAPABILITIES;
    text += "  # " + printable((is_part ? gain.remedy.what + ": " : "") + text_of(gain)) + "\n";
  }
  return text;
}

std::string text_of_commands(const Report& report) {
  std::string text;
  for (const Command& command : report.commands) text += text_of(command);
  if (!text.empty()) text = "What root can do, and what it can bring:\n\n" + text;
  for (const std::string& note : report.notes) text += (text.empty() ? "" : "  ") + ("# " + printable(note)) + "\n";
  return text;
}

std::string last_words(const Report& report) {
  if (report.gains.empty()) return "Nothing is lacking that could be changed.\n";
  if (!report.live) return "The tree is a recording: what would change it stands above, and is for its host.\n";
  const std::string commands = text_of_commands(report);
  return commands.empty() ? "No command would bring more; what would stands above.\n" : commands;
}

std::string text_of(const Report& report, const Registry& registry) {
  std::string text;
  for (const Diagnosis& diagnosis : report.diagnoses) {
    text += state_of(diagnosis);
    for (const Finding& finding : diagnosis.findings) text += text_of(finding, text_width());
    text += "\n";
  }
  if (text.empty()) return "no plugin is loaded\n";
  return text + text_of_refused(registry) + last_words(report);
}

// ---- JSON

void put_count(JsonOut& out, std::string_view key, std::size_t number) {
  out.key(key);
  out.number(std::uint64_t{number});
  out.put(',');
}

template <class Names>
void put_names(JsonOut& out, std::string_view key, const Names& names) {
  out.key(key);
  out.put('[');
  for (const std::string& name : names) {
    out.text(name);
    out.put(',');
  }
  out.close(']');
  out.put(',');
}

// "key":[{...},...], with `put` for what is in each object's braces.
template <class Items, class Put>
void put_objects(JsonOut& out, std::string_view key, const Items& items, Put put) {
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

void put_remedy(JsonOut& out, const Remedy& remedy) {
  out.key("remedy");
  if (remedy.kind == CTPROF_REMEDY_NONE) return out.raw("null,");
  out.put('{');
  put_member(out, "kind", kind_of(remedy).word);
  put_member(out, "what", remedy.what);
  out.close('}');
  out.put(',');
}

void put_finding(JsonOut& out, const Finding& finding) {
  put_member(out, "state", finding.state);
  put_member(out, "reason", finding.reason);
  put_remedy(out, finding.remedy);
  put_count(out, "unfilled", finding.unfilled);
  put_names(out, "metrics", finding.metrics);
}

void put_diagnosis(JsonOut& out, const Diagnosis& diagnosis) {
  put_member(out, "name", diagnosis.plugin->name);
  put_count(out, "fills", diagnosis.fills);
  put_count(out, "second", diagnosis.second);
  put_count(out, "refused", diagnosis.refused);
  put_objects(out, "findings", diagnosis.findings, [&](const Finding& finding) { put_finding(out, finding); });
}

void put_gain(JsonOut& out, const Gain& gain) {
  put_remedy(out, gain.remedy);
  put_names(out, "plugins", gain.plugins);
  put_names(out, "filled", gain.filled);
  put_names(out, "fuller", gain.fuller);
  put_names(out, "better", gain.better);
}

void put_command(JsonOut& out, const Command& command) {
  put_member(out, "command", command.text);
  put_objects(out, "gains", command.gains, [&](const Gain& gain) { put_gain(out, gain); });
}

std::string json_of(const Report& report, const Registry& registry) {
  JsonOut out;
  out.raw("{\"schema\":1,\"live\":");
  out.boolean(report.live);
  out.put(',');
  put_objects(out, "plugins", report.diagnoses, [&](const Diagnosis& diagnosis) { put_diagnosis(out, diagnosis); });
  put_refused(out, registry);
  put_objects(out, "commands", report.commands, [&](const Command& command) { put_command(out, command); });
  put_names(out, "notes", report.notes);
  out.close('}');
  return json_line(out.view());
}

}  // namespace

int run_doctor(const Options& options) {
  const auto roots = open_roots(options.rootfs);
  if (!roots) return fail(roots.error());
  auto registry = load_registry(options);
  if (!registry) return fail(registry.error());
  registry->probe(roots->host());
  const Report report = report_of(*registry, roots->live);
  return print(options.format == Format::Json ? json_of(report, *registry) : text_of(report, *registry));
}

}  // namespace ctprof::cli
