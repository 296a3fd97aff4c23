#include "core/render/screen_text.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "core/compare/asked/spec.hpp"
#include "core/compare/report/screen.hpp"
#include "core/render/about_rows.hpp"
#include "core/render/evidence_text.hpp"
#include "core/render/findings_text.hpp"
#include "core/render/host_text.hpp"
#include "core/render/report_sentences.hpp"
#include "core/render/screen_table.hpp"
#include "core/render/window_text.hpp"

namespace ctprof {
namespace {

// Minimum number of rows, also on a lower screen.
constexpr std::size_t kLeastRows = 5;
constexpr std::size_t kMostSettingsInLine = 4;

std::string joined_by(const std::vector<std::string>& parts, const char* between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

std::string not_measured(const Report& report) {
  if (report.absent().empty()) return {};
  const auto shown = std::ranges::count_if(report.metrics(), &PlannedMetric::shown);
  return "not measured here: " + std::to_string(report.absent().size()) + " of " +
         counted(static_cast<std::uint64_t>(shown), "metric") + " (ctprof doctor)";
}

std::string not_shown(const Report& report, std::size_t rows, const ScreenTableText& table) {
  const Screen& screen = *report.screen();
  std::vector<std::string> parts;
  if (screen.rows.size() > rows)
    parts.push_back(counted(screen.rows.size() - rows, "more row") + " (--limit 0)");
  if (screen.quiet_groups) parts.push_back(counted(screen.quiet_groups, "quiet group"));
  if (screen.quiet_kernel_threads)
    parts.push_back(counted(screen.quiet_kernel_threads, "quiet kernel thread"));
  if (screen.own_threads) parts.push_back(counted(screen.own_threads, "thread") + " of ctprof");
  if (!table.threads_gone.empty()) parts.push_back(table.threads_gone);
  std::vector<std::string> columns = table.gone;
  for (const std::string& label : screen.no_place) columns.push_back(printable(label));
  if (!columns.empty()) parts.push_back("for width " + joined_by(columns, " "));
  parts.push_back("other figures (--details)");
  const std::string text = "not shown: " + joined_by(parts, ", ");
  return table.has_marks ? text + "; " + std::string(kMark) + " orders the row (ctprof help %CPU)"
                         : text;
}

std::string in_lines(const std::string& text, std::size_t width) {
  return text.empty() ? "" : wrapped(text, width);
}

std::string opening(const Report& report, std::span<const std::string> files,
                    const TextLayout& layout) {
  for (std::size_t side = 0; side < report.sides().size(); ++side)
    if (report.runs(side).size() > 1) return heading(report, files, layout);
  std::string out;
  for (std::size_t side = 0; side < report.sides().size(); ++side)
    out += window_opening(report.sides()[side], report.compares() ? side_name(side) : "",
                          files[side], layout);
  out += host_line(report.sides(), layout.width);
  if (!report.compares()) return out;
  return out + other_boots(report) + host_text(report, layout) + order_text(report, layout.width);
}

// Returns the settings that changed inside each window, for at most kMostSettingsInLine windows.
std::string settings_inside(const Report& report, std::size_t width) {
  std::string out;
  std::size_t told = 0, more = 0;
  for (std::size_t side = 0; side < report.sides().size(); ++side)
    for (const RunFacts& run : report.runs(side)) {
      const std::string said = settings_sentence(*run.window, width);
      if (!said.empty() && told == kMostSettingsInLine)
        ++more;
      else if (!said.empty())
        out += said, ++told;
    }
  return more ? out + "settings changed in " + counted(more, "more run") + "; see --format json\n"
              : out;
}

std::string settings(const Report& report, std::size_t width) {
  std::string out = settings_inside(report, width);
  std::vector<std::string> found = settings_between(report);
  if (found.empty()) return out;
  const std::size_t more = found.size() - std::min(found.size(), kMostSettingsInLine);
  found.resize(found.size() - more);
  if (more) found.push_back("and " + std::to_string(more) + " more");
  return out + wrapped("settings that differ: " + joined_by(found, "; "), width);
}

std::string with_rows(const Report& report, const std::string& before, const TextLayout& layout,
                      std::size_t rows) {
  std::string out = before;
  const ScreenTableText table = screen_table(report, rows, layout);
  out += table.text;
  out += evidence_text(report, true, layout.width);
  out += settings(report, layout.width);
  for (const std::string& note : report.notes())
    out += wrapped(told_name(note, kMostNote), layout.width);
  return out + in_lines(not_measured(report), layout.width) +
         in_lines(not_shown(report, rows, table), layout.width);
}

}  // namespace

std::vector<std::string> settings_between(const Report& report) {
  std::vector<std::string> found;
  const auto compare = [&](std::uint32_t group, std::size_t at) {
    const PlannedMetric& metric = report.metrics()[at];
    for (std::size_t side = 1; side < report.sides().size(); ++side) {
      if (report.changes().of(group, at, side).moved != Moved::Yes) continue;
      const std::string& name = report.grouping().name(metric.entity, group);
      found.push_back(told_name(readable_key(name)) + " " + told_name(metric.name) + " " +
                      told_name(report.rollup().text({0, group, at})) + " → " +
                      told_name(report.rollup().text({side, group, at})));
    }
  };
  for (std::size_t at = 0; at < report.metrics().size(); ++at) {
    if (!report.metrics()[at].setting) continue;
    if (report.metrics()[at].entity == Entity::Host) compare(0, at);
    for (const ScreenRow& row : report.screen()->rows)
      if (report.metrics()[at].entity != Entity::Host) compare(row.group, at);
  }
  return found;
}

std::string screen_text(const Report& report, std::span<const std::string> files,
                        const ScreenLayout& layout) {
  const std::size_t all = report.screen()->rows.size();
  // A third of the terminal is for findings, and another third for the groups of --about.
  const std::size_t third = layout.lines / 3;
  const std::string before =
      opening(report, files, layout.text) +
      findings_text(report, files, layout.text, layout.rows ? SIZE_MAX : third,
                    layout.record_waits) +
      about_rows(report, layout.text, layout.rows ? *layout.rows : std::max(kLeastRows, third));
  if (layout.rows) return with_rows(report, before, layout.text, *layout.rows ? *layout.rows : all);
  // Lines about omitted data need space, too; one line is left for the prompt.
  for (std::size_t rows = std::min(all, layout.lines);;) {
    std::string text = with_rows(report, before, layout.text, rows);
    const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
    if (lines <= layout.lines || rows <= kLeastRows) return text;
    rows -= std::min(lines - layout.lines, rows - kLeastRows);
  }
}

}  // namespace ctprof
