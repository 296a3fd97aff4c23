#include "tools/ctprof/cli/manual.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/text.hpp"
#include "core/base/version.hpp"
#include "core/registry/metric_def.hpp"
#include "tools/ctprof/cli/command_table.hpp"
#include "tools/ctprof/cli/help.hpp"
#include "tools/ctprof/runtime/load_plugins.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/privileges.hpp"

namespace ctprof::cli {
namespace {

// The date of all pages. It is constant, because a build date would make two builds differ.
constexpr std::string_view kDate = "2026-11-23";

constexpr std::string_view kSummary = "a host-wide per-thread profiler";

struct ManEntry {
  std::string_view term, text;
};

constexpr std::array kStatuses{
    ManEntry{"0", "Success."},
    ManEntry{"1", "An expression of --fail-on is true for at least one row."},
    ManEntry{"2", "Wrong usage, or a file that could not be read or written."},
    ManEntry{"3", "With --strict: some requested data is missing."},
    ManEntry{
        "other",
        "After record -- COMMAND: the exit status of the command, or 128 plus the number of the "
        "signal that killed it."},
};

constexpr std::array kEnvironment{
    ManEntry{"CTPROF_OPTION",
             "Sets an option for every command that takes it: CTPROF_GROUP_BY sets --group-by."},
    ManEntry{"CTPROF_PLUGIN_PATH", "Directories with more plugins, separated by colons."},
    ManEntry{"CTPROF_PAGER, PAGER", "Pager for long text on a terminal; empty or cat: none."},
    ManEntry{"NO_COLOR, CLICOLOR_FORCE", "Switch colours off and on."},
};

constexpr std::array kConfigFiles{
    ManEntry{"/etc/ctprof/ctprof.conf", "Settings for all users of this host."},
    ManEntry{"$XDG_CONFIG_HOME/ctprof/ctprof.conf",
             "Settings of the user; by default in ~/.config."},
    ManEntry{"$XDG_STATE_HOME/ctprof/compared",
             "Hashes of runs that were compared, for --about; by default in ~/.local/state."},
};

std::string to_upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

// Escapes text for roff, so that it contains no request and no escape.
std::string escape_roff(std::string_view text) {
  constexpr std::array<std::pair<char, std::string_view>, 6> kSpecial{{{'\\', "\\e"},
                                                                       {'-', "\\-"},
                                                                       {'\'', "\\(aq"},
                                                                       {'`', "\\(ga"},
                                                                       {'^', "\\(ha"},
                                                                       {'~', "\\(ti"}}};
  std::string out = text.starts_with('.') ? "\\&" : "";
  for (const char c : text) {
    const auto special = std::ranges::find(kSpecial, c, &std::pair<char, std::string_view>::first);
    special == kSpecial.end() ? void(out += c) : void(out += special->second);
  }
  return out;
}

class ManPage {
 public:
  ManPage(std::string_view name, std::string_view part, std::string_view summary) {
    text_ = ".TH " + escape_roff(to_upper(name)) + " " + std::string(part) + " " +
            std::string(kDate) + " \"ctprof " + std::string(kVersion) + "\"\n";
    heading("NAME");
    line(escape_roff(name) + " \\- " + escape_roff(summary));
  }

  void heading(std::string_view title) {
    line(".SH " + std::string(title));
    has_text_ = false;
  }
  void paragraph(std::string_view text) { line(paragraph_break() + escape_roff(text)); }
  void entry(std::string_view term, std::string_view text) {
    line(".TP\n\\fB" + escape_roff(term) + "\\fR\n" + escape_roff(text));
  }
  void example(std::string_view command) {
    line(paragraph_break() + ".EX\n    " + escape_roff(command) + "\n.EE");
  }

  template <class Facts>
  void entries(std::string_view title, const Facts& entries) {
    heading(title);
    for (const ManEntry& fact : entries) entry(fact.term, fact.text);
  }
  void option(const OptionSpec& option);
  void see_also(const std::vector<std::string>& pages) {
    heading("SEE ALSO");
    std::string list;
    for (const std::string& page : pages)
      list += (list.empty() ? "" : ",\n") + (".BR " + escape_roff(page.substr(0, page.size() - 3)) +
                                             " " + page.substr(page.size() - 3));
    line(list);
  }

  std::string take_text() { return std::move(text_); }

 private:
  void line(const std::string& text) {
    text_ += text + "\n";
    has_text_ = true;
  }
  // Separates paragraphs. Returns an empty string directly below a heading.
  std::string paragraph_break() const { return has_text_ ? ".PP\n" : ""; }

  std::string text_;
  bool has_text_ = false;  // whether there is text below the heading
};

// "-o, --output FILE"
void ManPage::option(const OptionSpec& option) {
  const std::string_view name = option.name;
  const auto comma = name.find(',');
  std::string term =
      "\\fB" +
      (comma == name.npos ? ""
                          : escape_roff("-" + std::string(name.substr(comma + 1))) + "\\fR, \\fB") +
      escape_roff("--" + std::string(long_name(option))) + "\\fR";
  if (option.value) term += " \\fI" + escape_roff(option.value) + "\\fR";
  line(".TP\n" + term + "\n" + escape_roff(option.help));
}

std::string overview_page() {
  ManPage page("ctprof", "1", kSummary);
  page.heading("SYNOPSIS");
  page.paragraph("ctprof COMMAND [OPTION...] [FILE...]");
  page.heading("EXAMPLES");
  for (const CommandInfo* verb : command_table()) page.example(verb->example);
  page.heading("DESCRIPTION");
  page.paragraph(
      "ctprof reports what every thread of a Linux host did between two moments, including threads "
      "that exited: how long it ran, waited for a CPU and was blocked, what it read, wrote and "
      "faulted, which share of the host's CPU time it used, and what differs between two windows.");
  page.paragraph(
      "Metrics come from plugins. A cell that could not be read is a gap with a reason, never a "
      "zero. A recording is one file with everything that is needed to read it elsewhere.");
  page.heading("COMMANDS");
  for (const CommandInfo* verb : command_table()) page.entry(verb->name, verb->summary);
  page.heading("OPTIONS");
  page.paragraph("Every command takes these options; they may precede or follow the command.");
  for (const OptionSpec& option : find_command(all_commands(), "")->options) page.option(option);
  page.entries("EXIT STATUS", kStatuses);
  page.entries("ENVIRONMENT", kEnvironment);
  page.entries("FILES", kConfigFiles);
  std::vector<std::string> others;
  for (const CommandInfo* verb : command_table())
    others.push_back("ctprof-" + std::string(verb->name) + "(1)");
  for (const char* other : {"ctprof-metrics(7)", "ctprof-file(5)", "ctprof-sdk(3)"})
    others.emplace_back(other);
  page.see_also(others);
  return page.take_text();
}

std::string command_page(const CommandInfo& verb) {
  const std::string name = "ctprof-" + std::string(verb.name);
  ManPage page(name, "1", verb.summary);
  page.heading("SYNOPSIS");
  page.paragraph(usage_of(verb));
  page.heading("EXAMPLES");
  page.example(verb.example);
  if (!verb.options.empty()) page.heading("OPTIONS");
  for (const OptionSpec& option : verb.options) page.option(option);
  if (verb.make_help_section) {
    const HelpSection section = verb.make_help_section();
    page.heading(to_upper(section.title));
    for (const HelpEntry& entry : section.entries) page.entry(entry.term, entry.text);
  }
  page.entries("EXIT STATUS", kStatuses);
  page.see_also({"ctprof(1)", "ctprof-metrics(7)", "ctprof-file(5)"});
  return page.take_text();
}

// --- ctprof-metrics(7)

struct MetricEntry {
  std::string name, text;
};

template <class Def>
std::string describe_metric(const Def& def) {
  std::string text = def.description;
  if (!def.caveat.empty()) text += " " + def.caveat;
  text += " (" + std::string(name(def.entity)) + (def.unit == "none" ? "" : ", " + def.unit) +
          (def.family.empty() ? "" : ", " + def.family) +
          (def.config_gates.empty() ? "" : "; needs " + def.config_gates) + ")";
  return text;
}

// A std::string could also construct an Error, so the value is constructed explicitly.
Result<std::string> make_page_result(std::string text) {
  return {boost::system::in_place_value, std::move(text)};
}

Result<std::string> metrics_page() {
  CommonOptions options;
  options.quiet = true;
  CTPROF_TRY_VALUE(const auto registry, load_registry(options));
  std::map<std::string, std::vector<MetricEntry>> sections;
  for (const MetricDef& metric : registry.vocabulary().metrics)
    if (!metric.is_hidden)
      sections[metric.section].push_back({metric.name, describe_metric(metric)});
  for (const DerivedDef& derived : registry.derived_metrics())
    sections[derived.section].push_back(
        {derived.name, describe_metric(derived) + " = " + derived.expression});
  ManPage page("ctprof-metrics", "7", "metrics of threads, processes, cgroups and hosts");
  page.heading("DESCRIPTION");
  page.paragraph(
      "The metrics of the plugins that ctprof contains, by section. The kernel decides which are "
      "available: ctprof plugins lists them, and ctprof doctor explains how to enable others. "
      "ctprof help METRIC describes one metric.");
  for (auto& [section, metrics] : sections) {
    page.heading(escape_roff(to_upper(section)));
    std::ranges::sort(metrics, {}, &MetricEntry::name);
    for (const MetricEntry& metric : metrics) page.entry(metric.name, metric.text);
  }
  page.see_also({"ctprof(1)", "ctprof-metric-list(1)", "ctprof-plugins(1)", "ctprof-doctor(1)"});
  return make_page_result(page.take_text());
}

Result<std::string> make_page(std::string_view name) {
  if (name == "ctprof.1") return make_page_result(overview_page());
  if (name == "ctprof-metrics.7") return metrics_page();
  for (const CommandInfo* verb : command_table())
    if (name == "ctprof-" + std::string(verb->name) + ".1")
      return make_page_result(command_page(*verb));
  return Error{"no manual page '" + std::string(name) + "'"};
}

}  // namespace

int run_manual(std::span<const char* const> words) {
  if (auto dropped = drop_privileges(); !dropped) return fail(dropped.error());
  if (words.size() != 1) return fail("manual takes the name of one page, such as ctprof.1");
  const auto page = make_page(words.front());
  return page ? print(*page) : fail(page.error());
}

}  // namespace ctprof::cli
