#include "core/page/page_rows.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/number.hpp"
#include "core/compare/report/rows.hpp"
#include "core/render/report_lines.hpp"
#include "core/render/shown_figures.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kMostGroup = 200, kMostMetric = 80, kMostTold = 80;  // columns of text

std::string cut(const std::string& text, std::size_t most) { return shortened(text, most); }

// --- headlines
// ------------------------------------------------------------------------------------------

class Headlines {
 public:
  explicit Headlines(const Report& report) : report_(&report), screen_(report.screen()) {}

  PageRows rows() {
    for (const ScreenRow& row : screen_->rows)
      for (std::size_t column = 0; column < screen_->columns.size(); ++column) add(row, column);
    return std::exchange(found_, {});
  }

  std::vector<PageRow> about_rows() {
    for (const ScreenRow& row : screen_->about_rows)
      for (std::size_t column = 0; column < screen_->columns.size(); ++column) add(row, column);
    return std::exchange(found_, {}).rows;
  }

 private:
  void add(const ScreenRow& row, std::size_t at) {
    const ScreenColumn& column = screen_->columns[at];
    const auto figures = screen_->figures(row, at);
    if (!any_proven(figures) && !is_loud(column, figures)) return void(++found_.quiet);
    const PlannedMetric& metric = report_->metrics()[column.metric];
    PageRow made;
    made.at = {row.group, static_cast<std::uint32_t>(column.metric)};
    made.group =
        cut(group_text(report_->grouping(), report_->grouping().names[row.group]), kMostGroup);
    made.metric = cut(printable(column.headline.label), kMostMetric);
    made.unit = column.headline.shown == CTPROF_SHOWN_PERCENT ? "percent" : metric.unit;
    const ShownFigures shown = shown_figures(*report_, row, at);
    made.sides = shown.sides;
    found_.are_pairs = found_.are_pairs || shown.is_pair;
    for (const double side : shown.sides) made.told.push_back(brief(side, made.unit));
    made.runs = runs_of(made.at, metric);
    for (std::size_t side = 0; side < made.runs.size(); ++side)
      for (double& run : made.runs[side]) run /= shown.divisor[side];
    made.share = screen_->share(row, at);
    if (figures.back().proof) made.proof = without_floor(*figures.back().proof);
    found_.rows.push_back(std::move(made));
  }

  bool is_loud(const ScreenColumn& column, std::span<const ScreenFigure> figures) const {
    const auto reaches = [&](double figure) {
      return figure != 0 && std::abs(figure) >= column.floor;
    };
    if (figures.size() > 1 && reaches(moved(column, figures))) return true;
    return std::ranges::any_of(figures,
                               [&](const ScreenFigure& one) { return reaches(one.value); });
  }

  // Returns nothing for a figure that is neither per second nor a level.
  std::vector<std::vector<double>> runs_of(RowAt at, const PlannedMetric& metric) const {
    const bool level = metric.headline->shown == CTPROF_SHOWN_LEVEL;
    std::vector<std::vector<double>> runs;
    if (!level && !report_->rollup().per_second(at.metric)) return runs;
    for (std::size_t side = 0; side < report_->sides().size(); ++side) {
      runs.push_back(report_->rollup().run_numbers({side, at.group, at.metric}));
      for (double& number : runs.back()) number = screen_figure(metric, number);
    }
    return runs;
  }

  const Report* report_;
  const Screen* screen_;
  PageRows found_;
};

// --- metrics
// --------------------------------------------------------------------------------------------

PageRow row_of(const Report& report, const ReportRow& told) {
  PageRow row;
  row.at = told.at;
  row.group = cut(group_text(report.grouping(), told.group), kMostGroup);
  row.metric = cut(printable(told.metric->name), kMostMetric);
  row.unit = told.metric->unit;
  for (const SideFigure& side : told.sides) {
    row.sides.push_back(told.metric->has_number() ? as_double(report.rollup().read(side.at).number)
                                                  : kNaN);
    row.told.push_back(cut(told_name(report.rollup().text(side.at)), kMostTold));
    if (!std::isfinite(row.sides.back())) row.sides.back() = kNaN;
  }
  for (const SideFigure& side : told.sides)
    if (told.metric->has_number()) row.runs.push_back(report.rollup().run_numbers(side.at));
  if (!told.changes.empty() && told.changes.back().proof)
    row.proof = without_floor(*told.changes.back().proof);
  return row;
}

// Returns the magnitude of the row's change, or of its only figure.
double size_of(const PageRow& row) {
  return std::abs(row.sides.size() > 1 ? row.change() : row.sides[0]);
}

// Returns totals by metric: the sum of all groups on the larger side, or their maximum if the
// figures are not sums.
std::vector<double> totals(const Report& report, const std::vector<PageRow>& rows) {
  std::vector<double> totals(report.metrics().size());
  for (std::size_t side = 0; side < report.sides().size(); ++side) {
    std::vector<double> of_side(totals.size());
    for (const PageRow& row : rows) {
      if (std::isnan(row.sides[side])) continue;
      const PlannedMetric& metric = report.metrics()[row.at.metric];
      double& total = of_side[row.at.metric];
      const double figure = std::abs(row.sides[side]);
      total = metric.is_sum || metric.adds_up ? total + figure : std::max(total, figure);
    }
    for (std::size_t at = 0; at < totals.size(); ++at)
      totals[at] = std::max(totals[at], of_side[at]);
  }
  return totals;
}

PageRows all_metrics(const Report& report) {
  PageRows found;
  tell(report, RowKind::Section, [&](const ReportRow& told) {
    if (told.kind == RowKind::Section)
      found.quiet += told.section->still + told.section->missing + told.section->cut;
    else
      found.rows.push_back(row_of(report, told));
  });
  const auto whole = totals(report, found.rows);
  for (PageRow& row : found.rows) {
    const double total = whole[row.at.metric];
    row.share = total > 0 ? size_of(row) / total : kNaN;
  }
  return found;
}

// Removes the figures of runs if no side has several runs.
void drop_single_runs(PageRow& row) {
  if (std::ranges::all_of(row.runs, [](const auto& side) { return side.size() < 2; }))
    row.runs.clear();
}

double rank(const PageRow& row) { return std::isnan(row.share) ? -1 : row.share; }

// Sorts significant rows first; see the header.
void sort_rows(std::vector<PageRow>& rows) {
  const bool is_any_proven = std::ranges::any_of(rows, &PageRow::is_proven);
  const auto p_alone = [&](const PageRow& row) {
    return row.proof && !is_any_proven ? row.proof->p_alone : 1;
  };
  std::ranges::stable_sort(rows, [&](const PageRow& a, const PageRow& b) {
    if (a.is_proven() != b.is_proven()) return a.is_proven();
    if (a.proof.has_value() != b.proof.has_value()) return a.proof.has_value();
    if (p_alone(a) != p_alone(b)) return p_alone(a) < p_alone(b);
    if (rank(a) != rank(b)) return rank(a) > rank(b);
    return std::tie(a.group, a.metric) < std::tie(b.group, b.metric);
  });
}

}  // namespace

double PageRow::change() const { return sides.size() < 2 ? kNaN : sides[1] - sides[0]; }

double PageRow::relative() const {
  return sides.size() < 2 || sides[0] == 0 ? kNaN : change() / std::abs(sides[0]);
}

PageRows page_rows(const Report& report, bool details) {
  PageRows found = report.screen() && !details ? Headlines(report).rows() : all_metrics(report);
  if (report.screen()) found.about = Headlines(report).about_rows();
  std::set<std::uint32_t> groups;
  for (PageRow& row : found.rows) {
    groups.insert(row.at.group);
    found.are_judged = found.are_judged || row.proof;
    row.in_doubt = report.families().judge() && !row.is_proven();
    drop_single_runs(row);
  }
  found.groups = groups.size();
  for (PageRow& row : found.about) {
    row.in_doubt = report.families().judge() && !row.is_proven();
    drop_single_runs(row);
  }
  sort_rows(found.rows);
  sort_rows(found.about);
  return found;
}

}  // namespace ctprof
