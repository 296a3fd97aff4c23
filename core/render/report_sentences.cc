#include "core/render/report_sentences.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "core/base/json_scanner.hpp"
#include "core/base/number.hpp"
#include "core/compare/figures/uncaptured_metrics.hpp"
#include "core/compare/report/rows.hpp"
#include "core/compare/request/spec.hpp"
#include "ctprof/gap.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kMaxHostLines = 9;
constexpr std::size_t kMaxHostWidth = 60;
constexpr std::string_view kCommandLine = "kernel_cmdline";
// The prefixes of keys that come first, in this order; other keys follow.
constexpr std::string_view kFirstKeys[] = {"kernel_release",    kCommandLine,     "sched_tunables.",
                                           "cpu_model",         "online_cpus",    "numa_nodes",
                                           "total_memory_kib",  "thp_enabled",    "thp_defrag",
                                           "cpufreq_governor.", "task_delayacct", "arch",
                                           "kernel_name",       "hugepages_total"};

std::size_t get_sort_position(std::string_view key) {
  const auto it = std::find_if(std::begin(kFirstKeys), std::end(kFirstKeys),
                               [&](std::string_view first) { return key.starts_with(first); });
  return static_cast<std::size_t>(it - std::begin(kFirstKeys));
}

// Returns a JSON value for display: a string without its quotes.
std::string format_host_value(const std::optional<std::string>& json) {
  if (!json) return {};
  return parse_json_string(*json).value_or(*json);
}

// Returns the words of `text` that `other` lacks. Command lines are long and mostly equal.
std::string find_missing_words(const std::string& text, const std::string& other) {
  std::istringstream of_text(text), of_other(other);
  const std::set<std::string> known(std::istream_iterator<std::string>(of_other), {});
  std::string missing;
  for (std::string word; of_text >> word;)
    if (!known.contains(word)) missing += (missing.empty() ? "" : " ") + word;
  return missing;
}

std::string format_host_cell(const std::string& text) {
  return text.empty() ? "-" : shorten(make_printable(text), kMaxHostWidth);
}

// Returns "6.1.0", or "6.1.0 (5 runs), 6.12.3 (3 runs)" if the runs of the side differ.
std::string format_host_values(std::span<const HostValue> values) {
  if (values.size() == 1) return format_host_value(values.front().json);
  std::string text;
  for (const HostValue& value : values) {
    const std::string value_text = format_host_value(value.json);
    text += (text.empty() ? "" : ", ") + (value_text.empty() ? "-" : value_text) + " (" +
            format_count(value.runs, "run") + ")";
  }
  return text;
}

HostDifferenceLine make_host_line(const HostDifference& difference) {
  std::string before = format_host_values(difference.baseline),
              after = format_host_values(difference.candidate);
  const bool are_plain = difference.baseline.size() == 1 && difference.candidate.size() == 1;
  if (difference.key == kCommandLine && are_plain) {
    const std::string only_after = find_missing_words(after, before);
    before = find_missing_words(before, after);
    after = only_after;
    // The words are equal, but their order differs.
    if (before.empty() && after.empty()) before = after = "(reordered)";
  }
  return {make_printable_short(difference.key), format_host_cell(before), format_host_cell(after)};
}

}  // namespace

std::vector<HostDifferenceLine> make_host_lines(std::vector<HostDifference> differences) {
  std::ranges::stable_sort(differences, {},
                           [](const HostDifference& one) { return get_sort_position(one.key); });
  std::vector<HostDifferenceLine> lines;
  for (const HostDifference& difference : differences) lines.push_back(make_host_line(difference));
  return lines;
}

namespace {

// Returns the table of differences between the host of the baseline and that of a side.
std::string format_host_table(std::vector<HostDifference> differences, std::size_t side,
                              const TextLayout& layout) {
  const std::vector<HostDifferenceLine> lines = make_host_lines(std::move(differences));
  TextTable table({{"host", Align::Left, 12, false},
                   {"baseline", Align::Left, 12, false},
                   {side_name(side), Align::Left, 12, false}});
  for (std::size_t i = 0; i < std::min(lines.size(), kMaxHostLines); ++i)
    table.add_row({{lines[i].key}, {lines[i].baseline}, {lines[i].candidate}});
  std::string out;
  table.append_to(out, layout);
  if (lines.size() > kMaxHostLines)
    out += format_count(lines.size() - kMaxHostLines, "more difference") + " in --format json\n";
  return out;
}

}  // namespace

std::string format_host_differences(const Report& report, const TextLayout& layout) {
  std::string out;
  for (std::size_t side = 1; side < report.sides().size(); ++side) {
    auto differences = host_differences(report.runs(0), report.runs(side));
    const bool same_boot = have_same_boot(report.sides()[0].meta, report.sides()[side].meta);
    if (!differences)
      out += "host context unavailable\n";
    else if (differences->empty())
      out += same_boot ? "" : "host contexts are equal\n";
    else
      out += format_host_table(std::move(*differences), side, layout);
  }
  return out;
}

namespace {

// The reason if --where excluded all rows with values.
constexpr const char* kNoMatchingRows = "no row matches";

// The reasons of gaps, by number; their names are in gap.hpp.
constexpr std::array<const char*, kGapNames.size()> kGapReasons{
    kNoMatchingRows,
    "no source filled it",
    "does not apply to these rows",
    "the threads exited before they were read",
    "no permission to read it",
    "not supported by that host",
    "switched off on that host",
    "the threads are older than the switch that enables it",
    "the kernel's text could not be parsed",
    "the processes did not respond",
    "its source failed",
    "not in the file",
    "its source cannot see these threads",
    "not read when the window opened",
    "the counter decreased"};

// Returns why a side has no value of a metric: the most frequent gap of its cells.
std::string find_reason(const Report& report, const AbsentMetric& absent, std::size_t side) {
  const std::size_t metric = absent.metric;
  const PlannedMetric& planned = report.metrics()[metric];
  if (planned.counts_rows || absent.is_only_excluded) return kNoMatchingRows;
  if (planned.expression) return "an input is missing";
  const Absence& absence = report.rollup().run(side).absence(metric);
  if (!absence.in_file)
    return is_not_captured(report.sides()[side].meta, planned.name)
               ? "not recorded because expensive"
               : "not in the file";
  if (absence.rows == 0) return "no rows";
  return kGapReasons[absence.most_frequent_gap];
}

std::string list_sides(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and the " : ", the ") + names[i];
  return text;
}

std::string describe_sides(const AbsentMetric& absent) {
  std::vector<std::string> sides_with_values;
  for (std::size_t side = 0; side < absent.is_absent_on.size(); ++side)
    if (!absent.is_absent_on[side]) sides_with_values.push_back(side_name(side));
  if (!sides_with_values.empty())
    return "Only the " + list_sides(sides_with_values) +
           (sides_with_values.size() == 1 ? " has values of" : " have values of");
  return absent.is_absent_on.size() == 1 ? "No value of" : "No value on either side of";
}

}  // namespace

std::string format_missing_metrics(const Report& report, std::size_t width) {
  std::map<std::pair<std::string, std::string>, std::string> absent;  // (sides, reason) -> names
  for (const AbsentMetric& one : report.absent_metrics()) {
    const auto& is_absent_on = one.is_absent_on;
    const auto side = static_cast<std::size_t>(
        std::find(is_absent_on.begin(), is_absent_on.end(), true) - is_absent_on.begin());
    std::string& names = absent[{describe_sides(one), find_reason(report, one, side)}];
    names += (names.empty() ? "" : ", ") + report.metrics()[one.metric].name;
  }
  std::string out;
  for (const auto& [sides_and_reason, names] : absent)
    out += wrap_words(
        sides_and_reason.first + " " + make_printable(names) + " (" + sides_and_reason.second + ")",
        width);
  return out;
}

std::string format_missing_metrics_and_notes(const Report& report, std::size_t width) {
  std::string out = format_missing_metrics(report, width);
  for (const std::string& note : report.notes())
    out += wrap_words(make_printable_short(note, kMaxNoteBytes), width);
  return out;
}

namespace {

std::string quote_name(std::string_view name) { return quote(make_printable_short(name)); }

// "sh:sh, cron:cron"
std::string list_kinds(const std::vector<ThreadKind>& kinds) {
  std::string text;
  for (const ThreadKind& kind : kinds)
    text += (text.empty() ? "" : ", ") + make_printable_short(kind.pcomm) + ":" +
            make_printable_short(kind.comm);
  return text;
}

std::string format_share(const CgroupRename& rename) {
  return format_scaled(make_number(100.0 * rename.kinds_in_common / rename.kinds_in_either),
                       "percent");
}

std::string describe_cgroups_below(const CgroupRename& rename) {
  std::string text = format_count(rename.child_renames.size(), "cgroup") +
                     " beside or below it, renamed from " + quote_name(rename.baseline_root) +
                     " to " + quote_name(rename.candidate_root) + ": ";
  for (const auto& [before, after] : rename.child_renames)
    text +=
        (&before == &rename.child_renames.front().first ? "" : ", ") + make_printable_short(before);
  return text;
}

}  // namespace

std::string describe_rename(const CgroupRename& rename) {
  std::string text = "cgroup " + quote_name(rename.baseline) + " of the baseline is " +
                     quote_name(rename.candidate) +
                     " in the candidate: " + std::to_string(rename.kinds_in_common) + " of " +
                     std::to_string(rename.kinds_in_either) + " kinds of threads (" +
                     format_share(rename) + ")";
  if (!rename.only_baseline.empty())
    text += "; only in the baseline " + list_kinds(rename.only_baseline);
  if (!rename.only_candidate.empty())
    text += "; only in the candidate " + list_kinds(rename.only_candidate);
  if (!rename.child_renames.empty()) text += "; " + describe_cgroups_below(rename);
  return text;
}

std::string format_renames(const Report& report, const TextLayout& layout) {
  const std::size_t rename_count = report.grouping().renames.size();
  if (rename_count == 0) return {};
  std::string out = "\n" +
                    apply_tint("## renamed cgroups: " + format_count(rename_count, "pair"),
                               Tint::Heading, layout.use_color) +
                    "\n";
  const auto renames = get_shown_renames(report);
  const std::size_t shown = renames.size();
  for (const CgroupRename& rename : renames)
    out += wrap_words(describe_rename(rename), layout.width);
  if (rename_count > shown)
    out += format_count(rename_count - shown, "more pair") + " beyond --limit " +
           std::to_string(shown) + " (--limit 0 shows all)\n";
  return out;
}

}  // namespace ctprof
