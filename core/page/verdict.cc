#include "core/page/verdict.hpp"

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

constexpr double kWorthAWord = 0.05;  // minimum relative change of a differing figure

std::string rounded(double value) { return std::to_string(std::llround(value)); }

// Returns for example "%CPU of worker".
std::string name_of(const PageRow& row) { return row.metric + " of " + row.group; }

// Returns for example "+17% and +23%".
std::string ends_text(const Proof& proof, std::string_view between = " and ") {
  if (!std::isfinite(proof.low) && !std::isfinite(proof.high)) return "unknown bounds";
  const auto end = [&](double shift) {
    return std::isfinite(shift) ? end_text(proof, shift) : "?";
  };
  return end(proof.low) + std::string(between) + end(proof.high);
}

std::string steps(const PageRow& row) {
  const std::string text = row.told[0] + " → " + row.told[1];
  const std::string p = row.proof ? ", p " + p_text(row.proof->p) : "";
  if (row.sides[0] == 0) return text + " (new" + p + ")";
  if (row.sides[1] == 0) return text + " (gone" + p + ")";
  if (row.proof)
    return text + " (" + shift_text(row.proof->shift) + ", between " + ends_text(*row.proof) + p +
           ")";
  return text + (std::isnan(row.relative()) ? "" : " (" + percent_text(row.relative()) + ")");
}

// --- of two sides
// -------------------------------------------------------------------------------------------

bool is_worth_a_word(const PageRow& row) {
  const double relative = row.relative();
  return std::isnan(relative) ? row.change() != 0 : std::abs(relative) >= kWorthAWord;
}

std::string bar_text(const Report& report) {
  return " (p at most " + p_text(report.spec().bar.alpha) + ")";
}

std::string how_many_are_proven(const Report& report, const PageRows& rows) {
  const auto proven = std::ranges::count_if(rows.rows, &PageRow::is_proven);
  const std::string of =
      counted(rows.rows.size(), "figure") + " of " + counted(rows.groups, "group");
  if (proven == 0) return "None of " + of + " differs significantly" + bar_text(report) + ".";
  return "Of " + of + ", " + std::to_string(proven) + (proven == 1 ? " differs" : " differ") +
         " significantly" + bar_text(report) + ".";
}

std::string how_many_differ(const Report& report, const PageRows& rows) {
  if (rows.are_judged) return how_many_are_proven(report, rows);
  const auto differ = std::ranges::count_if(rows.rows, is_worth_a_word);
  return "Of " + counted(rows.rows.size(), "figure") + " of " + counted(rows.groups, "group") +
         ", " + std::to_string(differ) + (differ == 1 ? " differs" : " differ") +
         " by 5 % or more.";
}

std::string what_changed_most(const PageRows& rows) {
  if (rows.rows.empty()) return "No figure changed.";
  const bool is_proven = rows.rows[0].is_proven();
  std::string text = rows.are_judged && !is_proven
                         ? "No change is significant; the one with the smallest p is "
                         : "The largest change is ";
  text += name_of(rows.rows[0]) + ": " + steps(rows.rows[0]);
  if (rows.rows.size() > 1 && rows.rows[1].is_proven() == is_proven)
    text += "; the next " + name_of(rows.rows[1]) + ": " + steps(rows.rows[1]);
  return text + ".";
}

// Returns a note if the runs are too few for any figure to be significant.
std::string enough_text(const Report& report) {
  const auto& design = report.families().design(1);
  const double alpha = report.spec().bar.alpha;
  if (!design || statistics::smallest_p(design->design) <= alpha) return {};
  const auto enough = statistics::enough_runs(alpha, design->design.paired);
  return ", too few for a significant difference at " + p_text(alpha) +
         (enough ? "; " + std::to_string(*enough) + " on each side are enough" : "");
}

std::string runs_of_sides(const Report& report, const PageRows& rows) {
  const std::size_t before = report.runs(0).size(), after = report.runs(1).size();
  if (before == 1 && after == 1)
    return "One run per side cannot show significance: `ctprof record --repeat 8` records eight "
           "runs.";
  return std::string("These are ") + (rows.are_pairs ? "geometric means" : "medians") + " of " +
         counted(before, "run") + " before and " + counted(after, "run") + " after" +
         enough_text(report) + ".";
}

// --- of one side
// --------------------------------------------------------------------------------------------

// Returns the median over a side's runs of a known property of their windows.
std::optional<double> median_of(
    std::span<const RunFacts> runs,
    const std::function<std::optional<double>(const WindowFacts&)>& of) {
  std::vector<ctprof_number> found;
  for (const RunFacts& run : runs)
    if (run.window)
      if (const auto value = of(*run.window)) found.push_back(number_of(*value));
  const ctprof_number middle = median(std::move(found));
  return has_value(middle) ? std::optional(as_double(middle)) : std::nullopt;
}

std::optional<double> busy_of(std::span<const RunFacts> runs) {
  return median_of(runs, [](const WindowFacts& window) -> std::optional<double> {
    if (!window.accounting || !(window.accounting->wall > 0)) return std::nullopt;
    return 100 * window.accounting->busy / window.accounting->wall;
  });
}

std::string cpus_text(const RunFacts& run) {
  return run.window->accounting ? " of " + std::to_string(100 * run.window->accounting->cpus) + " %"
                                : "";
}

std::string who_was_there(const Report& report) {
  const RunFacts& run = report.sides()[0];
  if (!run.window)
    return "At " + utc(run.meta.start.wall_unix_ns) + " there were " +
           counted(run.threads(), "thread") + " of " + std::to_string(run.processes()) +
           " processes.";
  const auto runs = report.runs(0);
  std::string text = runs.size() > 1 ? "In the median of " + counted(runs.size(), "run")
                                     : "In " + window_length(run);
  if (const auto busy = busy_of(runs))
    text += " the host's CPUs were busy for " + rounded(*busy) + " %" + cpus_text(run) + ", by " +
            counted(run.threads(), "thread") + ".";
  else
    text += " there were " + counted(run.threads(), "thread") + ".";
  return text;
}

std::string what_is_most(const PageRows& rows) {
  if (rows.rows.empty()) return "No figure is above its floor.";
  const auto one = [](const PageRow& row) {
    std::string text = name_of(row) + ": " + row.told[0];
    if (!std::isnan(row.share)) text += " (" + rounded(100 * row.share) + " % of the total)";
    return text;
  };
  std::string text = "The largest share is that of " + one(rows.rows[0]);
  if (rows.rows.size() > 1) text += "; the next " + one(rows.rows[1]);
  return text + ".";
}

std::string who_came_and_went(const Report& report, const PageRows& rows) {
  const RunFacts& run = report.sides()[0];
  if (!run.window)
    return counted(rows.rows.size(), "figure") + " of " + counted(rows.groups, "group") +
           " are shown.";
  const WindowRows& came = run.window->rows;
  return std::to_string(came.born) + " threads started and " +
         (run.window->sees_ends ? std::to_string(came.ended) : std::string("an unknown number")) +
         " exited" + (report.runs(0).size() > 1 ? " in the first" : "") + "; " +
         counted(rows.rows.size(), "figure") + " of " + counted(rows.groups, "group") +
         " are above their floors.";
}

// Returns for example "The host's CPUs were busy for 122 % before and 135 % after, of 200 %."
std::string busy_of_sides(const Report& report) {
  const auto before = busy_of(report.runs(0)), after = busy_of(report.runs(1));
  if (!before || !after) return {};
  return " The host's CPUs were busy for " + rounded(*before) + " % before and " + rounded(*after) +
         " % after" + (report.sides()[1].window ? "," + cpus_text(report.sides()[1]) : "") + ".";
}

}  // namespace

std::string percent_text(double fraction) {
  std::string text = percent(fraction);
  if (text.ends_with('%')) text.insert(text.size() - 1, " ");
  return text;
}

std::string interval_text(const Proof& proof) { return ends_text(proof, " to "); }

std::vector<std::string> verdict(const Report& report, const PageRows& rows) {
  if (!report.compares())
    return {who_was_there(report), what_is_most(rows), who_came_and_went(report, rows)};
  std::vector<std::string> sentences;
  if (std::string order = order_sentence(report, 1); !order.empty()) {
    order[0] = 'A';
    sentences.push_back(order + ".");
  }
  if (std::string about = about_text(report, 0); !about.empty()) {
    about.pop_back();
    sentences.push_back(about + ".");
  }
  sentences.push_back(how_many_differ(report, rows));
  sentences.push_back(what_changed_most(rows));
  sentences.push_back(runs_of_sides(report, rows) + busy_of_sides(report));
  return sentences;
}

}  // namespace ctprof
