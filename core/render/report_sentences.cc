#include "core/render/report_sentences.hpp"

#include <time.h>
#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cstdio>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/number.hpp"
#include "core/compare/asked/spec.hpp"
#include "core/compare/figures/left_out.hpp"
#include "core/compare/report/rows.hpp"
#include "core/render/evidence_text.hpp"
#include "core/render/sides_table.hpp"
#include "core/render/window_text.hpp"
#include "ctprof/gap.hpp"

namespace ctprof {
namespace {

// At most this many metrics are named; the file has all names.
constexpr std::size_t kMostNames = 8;

std::string who(std::size_t side, std::size_t sides) {
  return sides == 1 ? "snapshot" : side_name(side);
}

// Returns how far apart two captures of one boot began, by a clock that cannot be set.
std::string apart(const Meta& a, const Meta& b) {
  const std::uint64_t x = a.start.boottime_ns, y = b.start.boottime_ns;
  return scaled(number_of(std::max(x, y) - std::min(x, y)), "ns") + " apart" +
         (y < x ? ", the candidate first" : "");
}

std::string relation(const Meta& a, const Meta& b) {
  std::string text;
  if (a.boot_id.empty() || b.boot_id.empty())
    text = "unknown whether both are from one boot";
  else if (of_one_boot(a, b))
    text = "same boot, " + apart(a, b);
  else
    text = a.hostname && b.hostname && a.hostname == b.hostname ? "same host, different boots"
                                                                : "different boots";
  if (a.hostname && b.hostname && a.hostname != b.hostname) text += ", different hosts";
  if (a.user_hz != b.user_hz)
    text += ", different clock ticks (" + std::to_string(a.user_hz) + " and " +
            std::to_string(b.user_hz) + " a second)";
  return text;
}

}  // namespace

std::string counted(std::uint64_t count, const std::string& noun) {
  const bool hiss = noun.ends_with("ss");
  return std::to_string(count) + " " + noun + (count == 1 ? "" : hiss ? "es" : "s");
}

std::string utc(std::uint64_t unix_ns) {
  const auto seconds = static_cast<time_t>(unix_ns / kNsPerSecond);
  tm parts{};
  std::array<char, 64> text{};
  if (!::gmtime_r(&seconds, &parts)) return "-";
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%SZ", &parts);
  return text.data();
}

std::string takeover_in_words(const Takeover& takeover) {
  const auto& metrics = takeover.metrics;
  std::string text = "plugin '" + takeover.plugin + "', which is not ctprof's own, filled " +
                     counted(metrics.size(), "metric") + " in place of ctprof's sources: ";
  for (std::size_t i = 0; i < std::min(metrics.size(), kMostNames); ++i)
    text += (i > 0 ? ", " : "") + metrics[i];
  if (metrics.size() > kMostNames) text += " and " + counted(metrics.size() - kMostNames, "other");
  return text;
}

namespace {

// Returns for example "baseline 2", or "run 2" for the only side.
std::string name_of_run(const Report& report, std::size_t side, std::size_t run) {
  const std::string name = report.compares() ? side_name(side) : "run";
  return report.runs(side).size() > 1 ? name + " " + std::to_string(run + 1) : name;
}

// Returns the lines about the runs of one side.
std::string side_in_short(const Report& report, std::size_t side, const TextLayout& layout) {
  const auto runs = report.runs(side);
  std::string out;
  for (const Takeover& takeover : runs.front().meta.takeovers)
    out += who(side, report.sides().size()) + ": " + printable(takeover_in_words(takeover)) + "\n";
  if (!runs.front().window) return out;
  const bool are_several = runs.size() > 1;
  if (are_several) out += explained_in_short(runs, who(side, report.sides().size()), layout.width);
  std::size_t told = 0, more = 0;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const bool with_cpu = !are_several || !is_explained(runs[run]);
    const std::string text =
        window_in_short(runs[run], name_of_run(report, side, run), layout.width, with_cpu);
    if (text.empty()) continue;
    if (told == kMostNames) {
      ++more;
      continue;
    }
    ++told;
    out += text;
  }
  if (more > 0) out += counted(more, "more run") + "; see --format json\n";
  return out;
}

}  // namespace

namespace {

std::string relation_line(const Report& report, std::size_t side) {
  return (side > 1 ? side_name(side) + ": " : "") +
         relation(report.sides()[0].meta, report.sides()[side].meta) + "\n";
}

}  // namespace

std::string heading(const Report& report, std::span<const std::string> files,
                    const TextLayout& layout) {
  const auto sides = report.sides();
  const bool is_one_run = sides.size() == 1 && report.runs(0).size() == 1;
  if (is_one_run && sides[0].window) return window_heading(sides[0], files[0], layout);
  std::string out = table_of_sides(report, files, layout);
  for (std::size_t side = 0; side < sides.size(); ++side)
    out += side_in_short(report, side, layout);
  for (std::size_t side = 1; side < sides.size(); ++side) out += relation_line(report, side);
  return out + host_text(report, layout) + order_text(report, layout.width);
}

std::string other_boots(const Report& report) {
  std::string out;
  for (std::size_t side = 1; side < report.sides().size(); ++side)
    if (!of_one_boot(report.sides()[0].meta, report.sides()[side].meta))
      out += relation_line(report, side);
  return out;
}

namespace {

constexpr std::size_t kMostLines = 9;
constexpr std::size_t kMostWidth = 60;
constexpr std::string_view kCommandLine = "kernel_cmdline";
// The prefixes of keys that come first, in this order; other keys follow.
constexpr std::string_view kFirst[] = {"kernel_release",    kCommandLine,     "sched_tunables.",
                                       "cpu_model",         "online_cpus",    "numa_nodes",
                                       "total_memory_kib",  "thp_enabled",    "thp_defrag",
                                       "cpufreq_governor.", "task_delayacct", "arch",
                                       "kernel_name",       "hugepages_total"};

std::size_t place_of(std::string_view key) {
  const auto it = std::find_if(std::begin(kFirst), std::end(kFirst),
                               [&](std::string_view first) { return key.starts_with(first); });
  return static_cast<std::size_t>(it - std::begin(kFirst));
}

// Returns a JSON value for display: a string without its quotes.
std::string text_of(const std::optional<std::string>& json) {
  if (!json) return {};
  boost::system::error_code problem;
  const boost::json::value value = boost::json::parse(*json, problem);
  return !problem && value.is_string() ? std::string(value.get_string()) : *json;
}

// Returns the words of `text` that `other` lacks. Command lines are long and mostly equal.
std::string words_lacking(const std::string& text, const std::string& other) {
  std::istringstream of_text(text), of_other(other);
  const std::set<std::string> known(std::istream_iterator<std::string>(of_other), {});
  std::string lacking;
  for (std::string word; of_text >> word;)
    if (!known.contains(word)) lacking += (lacking.empty() ? "" : " ") + word;
  return lacking;
}

std::string told(const std::string& text) {
  return text.empty() ? "-" : shortened(printable(text), kMostWidth);
}

// Returns "6.1.0", or "6.1.0 (5 runs), 6.12.3 (3 runs)" if the runs of the side differ.
std::string text_of(std::span<const HostValue> values) {
  if (values.size() == 1) return text_of(values.front().json);
  std::string text;
  for (const HostValue& value : values) {
    const std::string one = text_of(value.json);
    text += (text.empty() ? "" : ", ") + (one.empty() ? "-" : one) + " (" +
            counted(value.runs, "run") + ")";
  }
  return text;
}

HostLine line_of(const HostDifference& difference) {
  std::string before = text_of(difference.baseline), after = text_of(difference.candidate);
  const bool are_plain = difference.baseline.size() == 1 && difference.candidate.size() == 1;
  if (difference.key == kCommandLine && are_plain) {
    const std::string only_after = words_lacking(after, before);
    before = words_lacking(before, after);
    after = only_after;
    // The words are equal, but their order differs.
    if (before.empty() && after.empty()) before = after = "(reordered)";
  }
  return {told_name(difference.key), told(before), told(after)};
}

}  // namespace

std::vector<HostLine> host_lines(std::vector<HostDifference> differences) {
  std::ranges::stable_sort(differences, {},
                           [](const HostDifference& one) { return place_of(one.key); });
  std::vector<HostLine> lines;
  for (const HostDifference& difference : differences) lines.push_back(line_of(difference));
  return lines;
}

namespace {

// Returns the table of differences between the host of the baseline and that of a side.
std::string told_differences(std::vector<HostDifference> differences, std::size_t side,
                             const TextLayout& layout) {
  const std::vector<HostLine> lines = host_lines(std::move(differences));
  TextTable table({{"host", Align::Left, 12, false},
                   {"baseline", Align::Left, 12, false},
                   {side_name(side), Align::Left, 12, false}});
  for (std::size_t i = 0; i < std::min(lines.size(), kMostLines); ++i)
    table.add({{lines[i].key}, {lines[i].baseline}, {lines[i].candidate}});
  std::string out;
  table.append_to(out, layout);
  if (lines.size() > kMostLines)
    out += counted(lines.size() - kMostLines, "more difference") + " in --format json\n";
  return out;
}

// The differences of one side's host, if they are known.
struct Hosts {
  std::size_t side = 0;
  bool is_known = false;
  std::vector<HostDifference> differences{};
};

}  // namespace

std::string host_text(const Report& report, const TextLayout& layout) {
  std::vector<Hosts> all;
  tell(report, RowKind::Hosts, [&](const ReportRow& row) {
    if (row.kind == RowKind::Hosts)
      all.push_back({row.side, row.is_known});
    else
      all.back().differences.push_back(*row.difference);
  });
  std::string out;
  for (Hosts& hosts : all) {
    const bool same_boot = of_one_boot(report.sides()[0].meta, report.sides()[hosts.side].meta);
    if (!hosts.is_known)
      out += "host context unavailable\n";
    else if (hosts.differences.empty())
      out += same_boot ? "" : "host contexts are equal\n";
    else
      out += told_differences(std::move(hosts.differences), hosts.side, layout);
  }
  return out;
}

namespace {

// The reason if --where excluded all rows with values.
constexpr const char* kNothingLeft = "no row matches";

// Returns why a side has no value of a metric: the most frequent gap of its cells.
std::string reason(const Report& report, const PlannedMetric& planned, std::size_t metric,
                   std::size_t side) {
  if (planned.counts_rows) return kNothingLeft;
  if (planned.expression) return "an input is missing";
  const Absence& absence = report.rollup().run(side).absence(metric);
  if (!absence.in_file)
    return is_left_out(report.sides()[side].meta, planned.name) ? "not recorded because expensive"
                                                                : "not in the file";
  if (absence.rows == 0) return "no rows";
  return absence.most == CTPROF_VALUE ? kNothingLeft : std::string(kGapNames[absence.most]);
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and the " : ", the ") + names[i];
  return text;
}

std::string where(const Absent& absent) {
  std::vector<std::string> having;
  for (std::size_t side = 0; side < absent.on.size(); ++side)
    if (!absent.on[side]) having.push_back(side_name(side));
  if (!having.empty())
    return "Only the " + listed(having) +
           (having.size() == 1 ? " has values of" : " have values of");
  return absent.on.size() == 1 ? "No value of" : "No value on either side of";
}

}  // namespace

std::string leftovers(const Report& report, std::size_t width) {
  std::map<std::pair<std::string, std::string>, std::string> absent;  // (sides, reason) -> names
  tell(report, RowKind::Absent, [&](const ReportRow& row) {
    const auto& on = row.absent->on;
    const auto side = static_cast<std::size_t>(std::find(on.begin(), on.end(), true) - on.begin());
    std::string& names =
        absent[{where(*row.absent), reason(report, *row.metric, row.absent->metric, side)}];
    names += (names.empty() ? "" : ", ") + row.metric->name;
  });
  std::string out;
  for (const auto& [what, names] : absent)
    out += wrapped(what.first + " (" + what.second + "): " + printable(names), width);
  tell(report, RowKind::Note,
       [&](const ReportRow& row) { out += wrapped(told_name(row.text, kMostNote), width); });
  return out;
}

namespace {

std::string quoted(std::string_view name) { return "'" + told_name(name) + "'"; }

// "sh:sh, cron:cron"
std::string listed(const std::vector<ThreadKind>& kinds) {
  std::string text;
  for (const ThreadKind& kind : kinds)
    text += (text.empty() ? "" : ", ") + told_name(kind.pcomm) + ":" + told_name(kind.comm);
  return text;
}

std::string share_of(const CgroupRename& rename) {
  return scaled(number_of(100.0 * rename.in_common / rename.in_all), "percent");
}

std::string below(const CgroupRename& rename) {
  std::string text = counted(rename.below.size(), "cgroup") + " beside or below it likewise, " +
                     quoted(rename.baseline_root) + " as " + quoted(rename.candidate_root) + ": ";
  for (const auto& [before, after] : rename.below)
    text += (&before == &rename.below.front().first ? "" : ", ") + told_name(before);
  return text;
}

}  // namespace

std::string rename_in_words(const CgroupRename& rename) {
  std::string text = "cgroup " + quoted(rename.baseline) + " of the baseline is " +
                     quoted(rename.candidate) +
                     " in the candidate: " + std::to_string(rename.in_common) + " of " +
                     std::to_string(rename.in_all) + " kinds of threads (" + share_of(rename) + ")";
  if (!rename.only_baseline.empty())
    text += "; only in the baseline " + listed(rename.only_baseline);
  if (!rename.only_candidate.empty())
    text += "; only in the candidate " + listed(rename.only_candidate);
  if (!rename.below.empty()) text += "; " + below(rename);
  return text;
}

std::string renames_text(const Report& report, const TextLayout& layout) {
  const std::size_t all = report.grouping().renames.size();
  if (all == 0) return {};
  std::string out =
      "\n" + tinted("## renamed cgroups: " + counted(all, "pair"), Tint::Heading, layout.color) +
      "\n";
  std::size_t said = 0;
  tell(report, RowKind::Renamed, [&](const ReportRow& row) {
    ++said;
    out += wrapped(rename_in_words(*row.rename), layout.width);
  });
  if (all > said)
    out += counted(all - said, "more pair") + " beyond --limit " + std::to_string(said) +
           " (--limit 0 shows all)\n";
  return out;
}

}  // namespace ctprof
