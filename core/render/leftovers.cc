#include "core/render/leftovers.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "core/compare/asked/spec.hpp"
#include "core/compare/report/rows.hpp"
#include "core/render/printable.hpp"
#include "ctprof/gap.hpp"

namespace ctprof {
namespace {

// There are values, of rows that --where left out.
constexpr const char* kNobodyLeft = "of nothing that is left";

// Why a side has no value of a metric: the gap that most of its cells have.
std::string reason(const Report& report, const PlannedMetric& planned, std::size_t metric,
                   std::size_t side) {
  if (planned.counts_rows) return kNobodyLeft;
  if (planned.expression) return "an input is missing";
  const Absence& absence = report.rollup().run(side).absence(metric);
  if (!absence.in_file) return "not in the file";
  if (absence.rows == 0) return "no rows";
  return absence.most == CTPROF_VALUE ? kNobodyLeft : std::string(kGapNames[absence.most]);
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

}  // namespace ctprof
