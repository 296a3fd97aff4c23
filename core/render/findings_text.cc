#include "core/render/findings_text.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/text.hpp"
#include "core/compare/grouping/grouping.hpp"
#include "core/compare/request/spec.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kMaxSentenceBytes = 500, kMaxWordBytes = 300;

// Quotes a word for a suggested command; nothing if it is not plain text or looks like an option.
std::optional<std::string> make_shell_word(const std::string& word) {
  const bool is_text = make_printable(word) == word && word.find('\\') == word.npos;
  if (word.empty() || word.size() > kMaxWordBytes || word.starts_with('-') || !is_text)
    return std::nullopt;
  if (word.find('\'') != word.npos) return std::nullopt;
  return quote_for_shell(word);
}

// Returns whether a condition can quote the name; not if it is a pattern, which no thread has.
bool is_name_in_condition(const std::string& name) {
  return !name.empty() && name.find_first_of("\"'{}") == name.npos;
}

// Returns the property of threads whose value is the name of a group; nothing if there is none.
std::optional<std::string> find_name_property(GroupBy axis) {
  switch (axis) {
    case GroupBy::Pcomm: return "pcomm";
    case GroupBy::Comm: return "comm";
    case GroupBy::Cgroup: return "cgroup";
    default: return std::nullopt;
  }
}

// Returns the option that selects the threads of a group, such as "--where 'pcomm == "server"'".
// Returns nothing for a pattern, which no thread has as its name, and for a name that cannot be
// quoted.
std::optional<std::string> make_where_option(const Report& report, const std::string& group) {
  const auto property = find_name_property(report.spec().group_by);
  if (!property) return std::nullopt;
  const auto part = report.grouping().cgroup_parts.find(group);
  const bool has_cgroup = part != report.grouping().cgroup_parts.end();
  const std::string& name = has_cgroup ? part->second.process : group;
  if (!is_name_in_condition(name)) return std::nullopt;
  std::string condition = *property + " == \"" + name + "\"";
  if (has_cgroup && is_name_in_condition(part->second.cgroup))
    condition += " && cgroup == \"" + part->second.cgroup + "\"";
  const auto word = make_shell_word(condition);
  return word ? std::optional(" --where " + *word) : std::nullopt;
}

// Returns "ctprof show a.zst"; nothing for several runs, which share one name.
std::optional<std::string> make_command(const Report& report, const CommandSource& source) {
  for (std::size_t side = 0; side < report.sides().size(); ++side)
    if (report.runs(side).size() > 1) return std::nullopt;
  if (!source.command.empty())
    return make_printable(source.command) == source.command ? std::optional(source.command)
                                                            : std::nullopt;
  std::string command = report.is_comparison() ? "ctprof compare" : "ctprof show";
  for (std::size_t side = 0; side < report.sides().size(); ++side) {
    const auto word = make_shell_word(source.files[side]);
    if (!word) return std::nullopt;
    command += " " + *word;
  }
  return command;
}

// Returns the metric with this role, or null.
const PlannedMetric* find_metric_with_role(const Report& report, std::string_view role) {
  const auto found = std::ranges::find(report.metrics(), role, &PlannedMetric::role);
  return found == report.metrics().end() ? nullptr : &*found;
}

std::string get_finer_axis(GroupBy axis) {
  if (axis == GroupBy::Comm) return "pid";
  return axis == GroupBy::Cgroup ? "pcomm" : "comm";
}

// Splits a command at blanks outside quotes.
std::vector<std::string> split_arguments(std::string_view command) {
  std::vector<std::string> arguments(1);
  bool is_quoted = false;
  for (const char c : command) {
    if (c == '\'') is_quoted = !is_quoted;
    if (c == ' ' && !is_quoted)
      arguments.emplace_back();
    else
      arguments.back() += c;
  }
  return arguments;
}

// Breaks a command between arguments into lines that a shell joins. Only an argument that is wider
// than a line is split itself.
std::string wrap_command(const std::string& command, std::size_t width) {
  const std::string indent = "    ", joint = " \\";
  const std::size_t margin = indent.size() + joint.size();
  if (width <= margin || indent.size() + get_display_width(command) <= width)
    return indent + command + "\n";
  std::string text, line;
  const auto add_line = [&](const std::string& end) {
    std::string separator;
    for (const std::string& piece : fold(line, width - margin))
      text += std::exchange(separator, "\n") + indent + piece;
    text += end + "\n";
    line.clear();
  };
  for (const std::string& argument : split_arguments(command)) {
    const std::size_t joined_width = get_display_width(line) + 1 + get_display_width(argument);
    if (!line.empty() && joined_width > width - margin) add_line(joint);
    line += (line.empty() ? "" : " ") + argument;
  }
  add_line("");
  return text;
}

// A finding as lines of text, and its command, which is empty if there is none.
struct FindingLines {
  std::string text, command;
};

std::size_t count_lines(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

// Keeps as many findings as fit into `lines`, but at least one. A command that the next finding
// has, too, is counted and printed once.
void keep_fitting(std::vector<FindingLines>& findings, std::size_t lines) {
  std::size_t used_lines = 0, kept = 0;
  for (const FindingLines& one : findings) {
    const bool repeats_command = kept > 0 && findings[kept - 1].command == one.command;
    used_lines += count_lines(one.text) + (repeats_command ? 0 : count_lines(one.command));
    if (kept > 0 && used_lines > lines) break;
    ++kept;
  }
  findings.resize(kept);
}

}  // namespace

std::string format_finding(const Finding& finding) {
  return make_printable_short(readable_key(finding.subject), kMaxWordBytes) + " " +
         make_printable_short(finding.statement, kMaxSentenceBytes);
}

std::string make_next_command(const Report& report, const Finding& finding,
                              const CommandSource& source) {
  if (finding.next == NextStep::Waits && !report.stacks()) return source.record_command;
  const auto command = make_command(report, source);
  if (!command) return {};
  if (finding.next == NextStep::Nothing) return {};
  if (finding.next == NextStep::Cgroups) return *command + " --group-by cgroup";
  if (finding.next == NextStep::Rows && finding.entity)
    return *command + " --entity " + std::string(name(*finding.entity));
  if (finding.next == NextStep::Figures) {
    const auto section = make_shell_word(std::string(finding.section));
    if (!section) return {};
    const auto selection = finding.group ? make_where_option(report, finding.subject) : "";
    return *command + " --sections " + *section + selection.value_or("");
  }
  if (!finding.group) return {};  // the host has no threads of its own
  const auto where = make_where_option(report, finding.subject);
  if (finding.next == NextStep::Settings)
    return where ? *command + *where + " --details" : std::string();
  if (finding.next == NextStep::States) {
    const PlannedMetric* const metric = find_metric_with_role(report, "state");
    const auto name = metric ? make_shell_word(metric->name) : std::nullopt;
    if (!name) return {};
    return *command + " --group-by pid" + where.value_or("") + " --metrics " + *name;
  }
  const GroupBy axis = report.spec().group_by;
  // Without a condition, the command would show the rows of all threads again.
  if (axis == GroupBy::Comm && !where) return {};
  return *command + " --group-by " + get_finer_axis(axis) + where.value_or("");
}

std::string format_findings(const Report& report, const CommandSource& source,
                            const TextLayout& layout, std::size_t lines) {
  std::vector<FindingLines> findings;
  for (const Finding& finding : find_causes(report)) {
    const std::string command = make_next_command(report, finding, source),
                      number = std::to_string(findings.size() + 1);
    findings.push_back({wrap_words(number + " " + format_finding(finding), layout.width),
                        command.empty() ? "" : wrap_command(command, layout.width)});
  }
  keep_fitting(findings, lines);
  std::string text;
  for (std::size_t at = 0; at < findings.size(); ++at) {
    const bool is_last = at + 1 == findings.size();
    text += findings[at].text;
    if (is_last || findings[at + 1].command != findings[at].command) text += findings[at].command;
  }
  return text;
}

std::string describe_finding_rules(const TextLayout& layout) {
  std::string text = wrap_words(
      "ctprof prints findings above the first screen of a window or of a comparison of two "
      "windows: up to " +
          std::to_string(kMaxFindings) +
          " causes, ordered by their share of the machine. A finding names a group that:",
      layout.width);
  for (const FindingRule& rule : finding_rules()) {
    text += wrap_words(std::string(rule.name) + ": " + std::string(rule.threshold), layout.width);
  }
  return text + wrap_words(
                    "Percentages are of one CPU. In a comparison, a figure must also be 1.5 times "
                    "its value in the first window. A difference that the table tests must also be "
                    "significant. Plugins define further findings: the description of the derived "
                    "metric contains the threshold.",
                    layout.width);
}

void write_findings(JsonBuilder& json, const Report& report) {
  json.key("findings");
  json.open('[');
  for (const Finding& finding : find_causes(report)) {
    json.open_item();
    json.text_member("rule", finding.rule);
    json.text_member("who", finding.subject);
    json.text_member("what", finding.statement);
    json.key("weight");
    json.number(finding.weight);
    json.close('}');
  }
  json.close(']');
}

}  // namespace ctprof
