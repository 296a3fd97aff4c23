#include "core/render/screen_text.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "core/compare/report/screen.hpp"
#include "core/compare/request/spec.hpp"
#include "core/render/about_rows.hpp"
#include "core/render/evidence_text.hpp"
#include "core/render/findings_text.hpp"
#include "core/render/heading_text.hpp"
#include "core/render/host_text.hpp"
#include "core/render/report_sentences.hpp"
#include "core/render/screen_table.hpp"
#include "core/render/window_text.hpp"

namespace ctprof {
namespace {

// Minimum number of rows, even on a screen with fewer lines.
constexpr std::size_t kMinRows = 5;
constexpr std::size_t kMaxListedSettings = 4;

std::string join(const std::vector<std::string>& parts, const char* separator) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : separator) + part;
  return text;
}

std::string describe_missing_metrics(const Report& report) {
  const auto unmeasured = std::ranges::count_if(
      report.absent_metrics(), [](const AbsentMetric& one) { return !one.is_only_excluded; });
  if (unmeasured == 0) return {};
  const auto shown = std::ranges::count_if(report.metrics(), &PlannedMetric::is_shown);
  return "not measured here: " + std::to_string(unmeasured) + " of " +
         format_count(static_cast<std::uint64_t>(shown), "metric") + " (ctprof doctor)";
}

std::string describe_omitted_data(const Report& report, std::size_t rows,
                                  const ScreenTableText& table) {
  const Screen& screen = *report.screen();
  std::vector<std::string> parts;
  if (screen.rows.size() > rows)
    parts.push_back(format_count(screen.rows.size() - rows, "more row") + " (--limit 0)");
  if (screen.quiet_groups) parts.push_back(format_count(screen.quiet_groups, "quiet group"));
  if (screen.quiet_kernel_threads)
    parts.push_back(format_count(screen.quiet_kernel_threads, "quiet kernel thread"));
  if (screen.own_threads)
    parts.push_back(format_count(screen.own_threads, "thread") + " of ctprof");
  if (!table.omitted_threads.empty()) parts.push_back(table.omitted_threads);
  std::vector<std::string> columns = table.omitted_columns;
  for (const std::string& label : screen.omitted_labels) columns.push_back(make_printable(label));
  if (!columns.empty()) parts.push_back("for width " + join(columns, " "));
  parts.push_back("other figures (--details)");
  const std::string text = "not shown: " + join(parts, ", ");
  return table.has_marks
             ? text + "; " + std::string(kOrderMark) + " orders the row (ctprof help %CPU)"
             : text;
}

bool matches_no_group(const Report& report) {
  const Screen& screen = *report.screen();
  return !report.spec().where.conditions.empty() && screen.rows.empty() &&
         screen.quiet_groups == 0 && screen.quiet_kernel_threads == 0 && screen.own_threads == 0;
}

std::string wrap_if_not_empty(const std::string& text, std::size_t width) {
  return text.empty() ? "" : wrap_words(text, width);
}

// Returns the settings that changed inside each window, for at most kMaxListedSettings windows.
std::string format_changed_settings(const Report& report, std::size_t width) {
  std::string out;
  std::size_t shown = 0, omitted = 0;
  for (std::size_t side = 0; side < report.sides().size(); ++side)
    for (const RunFacts& run : report.runs(side)) {
      const std::string sentence = format_setting_changes(*run.window, width);
      if (!sentence.empty() && shown == kMaxListedSettings)
        ++omitted;
      else if (!sentence.empty())
        out += sentence, ++shown;
    }
  return omitted ? out + "settings changed in " + format_count(omitted, "more run") +
                       "; see --format json\n"
                 : out;
}

std::string format_settings(const Report& report, std::size_t width) {
  std::string out = format_changed_settings(report, width);
  std::vector<std::string> found = find_setting_differences(report);
  if (found.empty()) return out;
  const std::size_t omitted = found.size() - std::min(found.size(), kMaxListedSettings);
  found.resize(found.size() - omitted);
  if (omitted) found.push_back("and " + std::to_string(omitted) + " more");
  return out + wrap_words("settings that differ: " + join(found, "; "), width);
}

std::string format_with_rows(const Report& report, const std::string& heading_text,
                             const TextLayout& layout, std::size_t rows) {
  std::string out = heading_text;
  const ScreenTableText table = format_screen_table(report, rows, layout);
  out += table.text;
  out += describe_evidence(report, true, layout.width) + describe_single_runs(report, layout.width);
  out += format_settings(report, layout.width);
  for (const std::string& note : report.notes())
    out += wrap_words(make_printable_short(note, kMaxNoteBytes), layout.width);
  out += summarize_runs(report, layout);
  // Without groups, no metric has a value, even if it was measured.
  if (matches_no_group(report)) return out + wrap_words("no group matches --where", layout.width);
  return out + wrap_if_not_empty(describe_missing_metrics(report), layout.width) +
         wrap_if_not_empty(describe_omitted_data(report, rows, table), layout.width);
}

}  // namespace

std::string format_screen_opening(const Report& report, std::span<const std::string> files,
                                  const TextLayout& layout) {
  if (has_several_runs(report)) return format_runs_heading(report, files, layout);
  std::string out;
  for (std::size_t side = 0; side < report.sides().size(); ++side)
    out += format_window_opening(
        report.sides()[side], report.is_comparison() ? side_name(side) : "", files[side], layout);
  out += format_host_load(report.sides(), layout.width);
  if (!report.is_comparison()) return out;
  return out + describe_other_boots(report) + format_host_differences(report, layout) +
         format_order_notes(report, layout.width);
}

std::vector<std::string> find_setting_differences(const Report& report) {
  std::vector<std::string> found;
  const auto compare = [&](std::uint32_t group, std::size_t at) {
    const PlannedMetric& metric = report.metrics()[at];
    for (std::size_t side = 1; side < report.sides().size(); ++side) {
      if (report.changes().change(group, at, side).state != ChangeState::Changed) continue;
      const std::string& name = report.grouping().name(metric.entity, group);
      found.push_back(make_printable_short(readable_key(name)) + " " +
                      make_printable_short(metric.name) + " " +
                      make_printable_short(report.rollup().text({0, group, at})) + " → " +
                      make_printable_short(report.rollup().text({side, group, at})));
    }
  };
  for (std::size_t at = 0; at < report.metrics().size(); ++at) {
    if (!report.metrics()[at].is_setting) continue;
    if (report.metrics()[at].entity == Entity::Host) compare(0, at);
    for (const ScreenRow& row : report.screen()->rows)
      if (report.metrics()[at].entity != Entity::Host) compare(row.group, at);
  }
  return found;
}

std::string format_screen(const Report& report, std::span<const std::string> files,
                          const ScreenLayout& layout) {
  const std::size_t all = report.screen()->rows.size();
  // A third of the terminal is for findings, and another third for the groups of --about.
  const std::size_t third_of_lines = layout.lines / 3;
  const std::string heading_text =
      format_screen_opening(report, files, layout.text) +
      format_findings(report, {files, layout.record_command, layout.command}, layout.text,
                      layout.rows ? SIZE_MAX : third_of_lines) +
      format_about_rows(report, layout.text,
                        layout.rows ? *layout.rows : std::max(kMinRows, third_of_lines));
  if (layout.rows)
    return format_with_rows(report, heading_text, layout.text, *layout.rows ? *layout.rows : all);
  // Lines about omitted data need space, too; one line is left for the prompt.
  for (std::size_t rows = std::min(all, layout.lines);;) {
    std::string text = format_with_rows(report, heading_text, layout.text, rows);
    const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
    if (lines <= layout.lines || rows <= kMinRows) return text;
    rows -= std::min(lines - layout.lines, rows - kMinRows);
  }
}

}  // namespace ctprof
