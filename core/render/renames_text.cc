#include "core/render/renames_text.hpp"

#include "core/base/ladder.hpp"
#include "core/compare/report/rows.hpp"
#include "core/render/heading.hpp"
#include "core/render/leftovers.hpp"
#include "core/render/printable.hpp"

namespace ctprof {
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
