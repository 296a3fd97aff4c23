#include "core/page/report_summary.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "core/base/number.hpp"
#include "core/render/evidence_text.hpp"
#include "core/render/report_sentences.hpp"
#include "core/render/window_text.hpp"

namespace ctprof {
namespace {

constexpr double kMinRelativeChange = 0.05;  // minimum relative change of a differing figure

std::string format_rounded(double value) { return std::to_string(std::llround(value)); }

// Returns text such as "%CPU of worker".
std::string format_row_name(const PageRow& row) { return row.metric + " of " + row.group; }

// Returns text such as "+17% and +23%".
std::string format_bounds(const RowTestResult& test_result, std::string_view separator = " and ") {
  if (!std::isfinite(test_result.low) && !std::isfinite(test_result.high)) return "unknown bounds";
  const auto format_one_bound = [&](double shift) {
    return std::isfinite(shift) ? format_bound(test_result, shift) : "?";
  };
  return format_one_bound(test_result.low) + std::string(separator) +
         format_one_bound(test_result.high);
}

std::string format_change(const PageRow& row) {
  const std::string text = row.texts[0] + " → " + row.texts[1];
  const std::string p = row.test_result ? ", p " + format_p(row.test_result->p) : "";
  if (row.is_new || row.sides[0] == 0) return text + " (new" + p + ")";
  if (row.is_gone || row.sides[1] == 0) return text + " (gone" + p + ")";
  if (row.test_result)
    return text + " (" + format_shift(row.test_result->shift) + ", between " +
           format_bounds(*row.test_result) + p + ")";
  return text + (std::isnan(row.get_relative_change())
                     ? ""
                     : " (" + format_spaced_percent(row.get_relative_change()) + ")");
}

// --- of two sides
// -------------------------------------------------------------------------------------------

bool has_notable_change(const PageRow& row) {
  const double relative = row.get_relative_change();
  return std::isnan(relative) ? row.get_change() != 0 : std::abs(relative) >= kMinRelativeChange;
}

std::string format_alpha(const Report& report) {
  return " (p at most " + format_p(report.spec().significance.alpha) + ")";
}

std::string describe_significant_rows(const Report& report, const PageRows& rows) {
  const auto significant = std::ranges::count_if(rows.rows, &PageRow::is_significant);
  const std::string subject =
      format_count(rows.rows.size(), "figure") + " of " + format_count(rows.groups, "group");
  if (significant == 0)
    return "None of " + subject + " differs significantly" + format_alpha(report) + ".";
  return "Of " + subject + ", " + std::to_string(significant) +
         (significant == 1 ? " differs" : " differ") + " significantly" + format_alpha(report) +
         ".";
}

std::string describe_differing_rows(const Report& report, const PageRows& rows) {
  if (rows.are_tested) return describe_significant_rows(report, rows);
  const auto differing = std::ranges::count_if(rows.rows, has_notable_change);
  return "Of " + format_count(rows.rows.size(), "figure") + " of " +
         format_count(rows.groups, "group") + ", " + std::to_string(differing) +
         (differing == 1 ? " differs" : " differ") + " by 5 % or more.";
}

std::string describe_largest_changes(const PageRows& rows) {
  if (rows.rows.empty()) return "No figure changed.";
  const bool is_significant = rows.rows[0].is_significant();
  std::string text = rows.are_tested && !is_significant
                         ? "No change is significant; the one with the smallest p is "
                         : "The largest change is ";
  text += format_row_name(rows.rows[0]) + ": " + format_change(rows.rows[0]);
  if (rows.rows.size() > 1 && rows.rows[1].is_significant() == is_significant)
    text += "; the next " + format_row_name(rows.rows[1]) + ": " + format_change(rows.rows[1]);
  return text + ".";
}

// Returns a note if the runs are too few for any figure to be significant.
std::string describe_required_runs(const Report& report) {
  const auto& design = report.families().design(1);
  const double alpha = report.spec().significance.alpha;
  if (!design || statistics::compute_smallest_p(design->design) <= alpha) return {};
  const auto required_runs = statistics::compute_required_runs(alpha, design->design.is_paired);
  return ", too few for a significant difference at " + format_p(alpha) +
         (required_runs ? "; " + std::to_string(*required_runs) + " on each side are enough" : "");
}

std::string describe_runs(const Report& report, const PageRows& rows) {
  const std::size_t baseline_runs = report.runs(0).size(), candidate_runs = report.runs(1).size();
  if (baseline_runs == 1 && candidate_runs == 1)
    return "One run per side cannot show significance: `ctprof record --repeat 8` records eight "
           "runs.";
  return std::string("These are ") + (rows.have_test_figures ? "geometric means" : "medians") +
         " of " + format_count(baseline_runs, "run") + " before and " +
         format_count(candidate_runs, "run") + " after" + describe_required_runs(report) + ".";
}

// --- of one side
// --------------------------------------------------------------------------------------------

// Returns the median over a side's runs of a known property of their windows.
std::optional<double> compute_median(
    std::span<const RunFacts> runs,
    const std::function<std::optional<double>(const WindowFacts&)>& get_property) {
  std::vector<ctprof_number> found;
  for (const RunFacts& run : runs)
    if (run.window)
      if (const auto value = get_property(*run.window)) found.push_back(make_number(*value));
  const ctprof_number result = median(std::move(found));
  return has_value(result) ? std::optional(as_double(result)) : std::nullopt;
}

std::optional<double> get_busy_percent(std::span<const RunFacts> runs) {
  return compute_median(runs, [](const WindowFacts& window) -> std::optional<double> {
    if (!window.accounting || !(window.accounting->wall > 0)) return std::nullopt;
    return 100 * window.accounting->busy / window.accounting->wall;
  });
}

// Returns the time that the recorded threads ran, if the windows have only selected processes
// (`record -p` and `--cgroup`); otherwise the threads are those of the host.
std::optional<double> get_selected_percent(std::span<const RunFacts> runs) {
  return compute_median(runs, [](const WindowFacts& window) -> std::optional<double> {
    if (!window.is_partial || !window.accounting || !(window.accounting->wall > 0))
      return std::nullopt;
    return 100 * (window.accounting->living + window.accounting->exited) / window.accounting->wall;
  });
}

std::string format_cpus(const RunFacts& run) {
  return run.window->accounting ? " of " + std::to_string(100 * run.window->accounting->cpus) + " %"
                                : "";
}

std::string describe_threads(const Report& report) {
  const RunFacts& run = report.sides()[0];
  if (!run.window)
    return "At " + format_utc(run.meta.start.wall_unix_ns) + " there were " +
           format_count(run.threads(), "thread") + " of " + std::to_string(run.processes()) +
           " processes.";
  const auto runs = report.runs(0);
  std::string text = runs.size() > 1 ? "In the median of " + format_count(runs.size(), "run")
                                     : "In " + format_window_length(run);
  const auto selected = get_selected_percent(runs), busy = get_busy_percent(runs);
  if (selected && busy)
    text += " the " + format_count(run.threads(), "recorded thread") + " ran for " +
            format_rounded(*selected) + " %, while the host's CPUs were busy for " +
            format_rounded(*busy) + " %" + format_cpus(run) + ".";
  else if (busy)
    text += " the host's CPUs were busy for " + format_rounded(*busy) + " %" + format_cpus(run) +
            ", by " + format_count(run.threads(), "thread") + ".";
  else
    text += " there were " + format_count(run.threads(), "thread") + ".";
  return text;
}

std::string describe_largest_shares(const PageRows& rows) {
  if (rows.rows.empty()) return "No figure is above its floor.";
  const auto format_row = [](const PageRow& row) {
    std::string text = format_row_name(row) + ": " + row.texts[0];
    if (!std::isnan(row.share)) text += " (" + format_rounded(100 * row.share) + " % of the total)";
    return text;
  };
  std::string text = "The largest share is that of " + format_row(rows.rows[0]);
  if (rows.rows.size() > 1) text += "; the next " + format_row(rows.rows[1]);
  return text + ".";
}

std::string describe_started_and_exited(const Report& report, const PageRows& rows) {
  const RunFacts& run = report.sides()[0];
  if (!run.window)
    return format_count(rows.rows.size(), "figure") + " of " + format_count(rows.groups, "group") +
           " are shown.";
  const WindowRows& rows_of_window = run.window->rows;
  return std::to_string(rows_of_window.started) + " threads started and " +
         (run.window->records_exits ? std::to_string(rows_of_window.exited)
                                    : std::string("an unknown number")) +
         " exited" + (report.runs(0).size() > 1 ? " in the first" : "") + "; " +
         format_count(rows.rows.size(), "figure") + " of " + format_count(rows.groups, "group") +
         " are above their floors.";
}

// Returns text such as "The host's CPUs were busy for 122 % before and 135 % after, of 200 %."
std::string describe_busy_cpus(const Report& report) {
  const auto baseline = get_busy_percent(report.runs(0)),
             candidate = get_busy_percent(report.runs(1));
  if (!baseline || !candidate) return {};
  const auto selected_before = get_selected_percent(report.runs(0)),
             selected_after = get_selected_percent(report.runs(1));
  std::string text;
  if (selected_before && selected_after)
    text = " The recorded threads ran for " + format_rounded(*selected_before) + " % before and " +
           format_rounded(*selected_after) + " % after.";
  return text + " The host's CPUs were busy for " + format_rounded(*baseline) + " % before and " +
         format_rounded(*candidate) + " % after" +
         (report.sides()[1].window ? "," + format_cpus(report.sides()[1]) : "") + ".";
}

}  // namespace

std::string format_spaced_percent(double fraction) {
  std::string text = format_percent(fraction);
  if (text.ends_with('%')) text.insert(text.size() - 1, " ");
  return text;
}

std::string format_page_change(const PageRow& row) {
  const double change = row.get_change();
  const std::string mark = row.is_insignificant ? std::string(kNotSignificant) + " " : "";
  if (row.is_new || row.is_gone) return mark + (row.is_new ? "new" : "gone");
  if (std::isnan(change)) return mark + "-";
  if (row.sides[0] == 0) return mark + (change == 0 ? "0" : "new");
  if (row.sides[1] == 0) return mark + "gone";
  return mark + (row.test_result ? format_shift(row.test_result->shift)
                                 : format_spaced_percent(row.get_relative_change()));
}

std::string format_interval(const RowTestResult& test_result) {
  return format_bounds(test_result, " to ");
}

std::vector<std::string> summarize_report(const Report& report, const PageRows& rows) {
  if (!report.is_comparison())
    return {describe_threads(report), describe_largest_shares(rows),
            describe_started_and_exited(report, rows)};
  std::vector<std::string> sentences;
  if (std::string run_order = describe_run_order(report, 1); !run_order.empty()) {
    run_order[0] = 'A';
    sentences.push_back(run_order + ".");
  }
  if (std::string about = describe_about_evidence(report, 0); !about.empty()) {
    about.pop_back();
    sentences.push_back(about + ".");
  }
  sentences.push_back(describe_differing_rows(report, rows));
  sentences.push_back(describe_largest_changes(rows));
  sentences.push_back(describe_runs(report, rows) + describe_busy_cpus(report));
  return sentences;
}

}  // namespace ctprof
