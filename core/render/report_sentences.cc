#include "core/render/report_sentences.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "core/base/number.hpp"
#include "core/compare/asked/spec.hpp"
#include "core/compare/report/rows.hpp"
#include "core/render/heading.hpp"
#include "core/render/terminal_text.hpp"
#include "ctprof/gap.hpp"

namespace ctprof {
namespace {

// If --where left out all rows with values.
constexpr const char* kNothingLeft = "of nothing that is left";

// Why a side has no value of a metric: the gap that most of its cells have.
std::string reason(const Report& report, const PlannedMetric& planned, std::size_t metric,
                   std::size_t side) {
  if (planned.counts_rows) return kNothingLeft;
  if (planned.expression) return "an input is missing";
  const Absence& absence = report.rollup().run(side).absence(metric);
  if (!absence.in_file) return "not in the file";
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

std::string wrapped(const std::string& text, std::size_t width) {
  std::istringstream words(text);
  std::string out, line;
  for (std::string word; words >> word;) {
    const bool fits =
        width == 0 || line.empty() || display_width(line) + 1 + display_width(word) <= width;
    if (!fits) out += line + "\n", line = " ";
    line += (line.empty() ? "" : " ") + word;
  }
  return out + line + "\n";
}

std::string leftovers(const Report& report, std::size_t width) {
  std::map<std::pair<std::string, std::string>, std::string> absent;  // (where, why) -> names
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
