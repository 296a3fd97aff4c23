#include "core/render/leftovers.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <utility>

#include "core/render/printable.hpp"
#include "ctprof/gap.hpp"

namespace ctprof {
namespace {

// There are values, of rows that --where left out.
constexpr const char* kNobodyLeft = "of nothing that is left";

// Why a side has no value of a metric: the gap that most of its cells have.
std::string reason(const Report& report, std::size_t metric, std::size_t side) {
  const PlannedMetric& planned = report.metrics()[metric];
  if (planned.counts_rows) return kNobodyLeft;
  if (planned.expression) return "an input is missing";
  const Column* column = planned.columns[side];
  if (!column) return "not in the file";
  std::array<std::size_t, kGapNames.size()> tally{};
  for (const ctprof_gap gap : column->gaps())
    ++tally[std::min<std::size_t>(gap, kGapNames.size() - 1)];
  const auto most = std::max_element(tally.begin(), tally.end());
  if (most == tally.begin() && *most > 0) return kNobodyLeft;
  return *most == 0 ? "no rows"
                    : std::string(kGapNames[static_cast<std::size_t>(most - tally.begin())]);
}

std::string where(const Absent& absent, std::size_t sides) {
  if (sides == 1) return "No value of";
  if (absent.on[0] && absent.on[1]) return "No value on either side of";
  return absent.on[0] ? "Only the candidate has values of" : "Only the baseline has values of";
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
  for (const Absent& metric : report.absent()) {
    const std::size_t side = metric.on[0] ? 0 : 1;
    std::string& names =
        absent[{where(metric, report.sides().size()), reason(report, metric.metric, side)}];
    names += (names.empty() ? "" : ", ") + report.metrics()[metric.metric].name;
  }
  std::string out;
  for (const auto& [what, names] : absent)
    out += wrapped(what.first + " (" + what.second + "): " + printable(names), width);
  for (const std::string& note : report.notes()) out += wrapped(told_name(note, kMostNote), width);
  return out;
}

}  // namespace ctprof
