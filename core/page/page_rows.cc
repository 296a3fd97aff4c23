#include "core/page/page_rows.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/number.hpp"
#include "core/compare/report/rows.hpp"
#include "core/render/displayed_figures.hpp"
#include "core/render/report_lines.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kMaxGroupWidth = 200, kMaxMetricWidth = 80,
                      kMaxValueWidth = 80;  // columns of text

std::string shorten_to(const std::string& text, std::size_t max_width) {
  return shorten(text, max_width);
}

// --- headlines
// ------------------------------------------------------------------------------------------

class HeadlineRows {
 public:
  explicit HeadlineRows(const Report& report) : report_(&report), screen_(report.screen()) {}

  PageRows make_rows() {
    for (const ScreenRow& row : screen_->rows)
      for (std::size_t column = 0; column < screen_->columns.size(); ++column) add_row(row, column);
    return std::exchange(found_, {});
  }

  std::vector<PageRow> make_about_rows() {
    for (const ScreenRow& row : screen_->about_rows)
      for (std::size_t column = 0; column < screen_->columns.size(); ++column) add_row(row, column);
    return std::exchange(found_, {}).rows;
  }

 private:
  void add_row(const ScreenRow& row, std::size_t at) {
    const ScreenColumn& column = screen_->columns[at];
    const auto figures = screen_->figures(row, at);
    if (!has_significant_change(figures) && !is_above_floor(column, figures))
      return void(++found_.quiet_figures);
    const PlannedMetric& metric = report_->metrics()[column.metric];
    PageRow page_row;
    page_row.at = {row.group, static_cast<std::uint32_t>(column.metric)};
    page_row.group = shorten_to(
        format_group(report_->grouping(), report_->grouping().names[row.group]), kMaxGroupWidth);
    page_row.metric = shorten_to(make_printable(column.headline.label), kMaxMetricWidth);
    page_row.unit = column.headline.shown == CTPROF_SHOWN_PERCENT ? "percent" : metric.unit;
    page_row.is_new = row.is_new();
    page_row.is_gone = row.has_disappeared();
    const DisplayedFigures shown = compute_displayed_figures(*report_, row, at);
    page_row.sides = shown.sides;
    found_.have_test_figures = found_.have_test_figures || shown.is_tested;
    for (const double side : shown.sides)
      page_row.texts.push_back(format_brief(side, page_row.unit));
    page_row.runs = get_run_figures(page_row.at, metric);
    for (std::size_t side = 0; side < page_row.runs.size(); ++side)
      for (double& run : page_row.runs[side]) run /= shown.divisor[side];
    page_row.share = screen_->share(row, at);
    if (figures.back().test_result)
      page_row.test_result = remove_floor(*figures.back().test_result);
    found_.rows.push_back(std::move(page_row));
  }

  bool is_above_floor(const ScreenColumn& column, std::span<const ScreenFigure> figures) const {
    const auto reaches = [&](double figure) {
      return figure != 0 && std::abs(figure) >= column.floor;
    };
    if (figures.size() > 1 && reaches(ordering_value(column, figures))) return true;
    return std::ranges::any_of(figures,
                               [&](const ScreenFigure& one) { return reaches(one.value); });
  }

  // Returns nothing for a figure that is neither per second nor a level.
  std::vector<std::vector<double>> get_run_figures(RowPosition at,
                                                   const PlannedMetric& metric) const {
    const bool is_level = metric.headline->shown == CTPROF_SHOWN_LEVEL;
    std::vector<std::vector<double>> runs;
    if (!is_level && !report_->rollup().is_per_second(at.metric)) return runs;
    for (std::size_t side = 0; side < report_->sides().size(); ++side) {
      runs.push_back(report_->rollup().run_numbers({side, at.group, at.metric}));
      for (double& number : runs.back()) number = to_screen_value(metric, number);
    }
    return runs;
  }

  const Report* report_;
  const Screen* screen_;
  PageRows found_;
};

// --- metrics
// --------------------------------------------------------------------------------------------

PageRow make_row(const Report& report, const MetricRow& report_row) {
  PageRow row;
  row.at = report_row.at;
  row.group = shorten_to(format_group(report.grouping(), report_row.group), kMaxGroupWidth);
  row.metric = shorten_to(make_printable(report_row.metric->name), kMaxMetricWidth);
  row.unit = report_row.metric->unit;
  for (const SideFigure& side : report_row.sides) {
    row.sides.push_back(
        report_row.metric->has_number() ? as_double(report.rollup().read(side.at).number) : kNaN);
    row.texts.push_back(
        shorten_to(make_printable_short(report.rollup().text(side.at)), kMaxValueWidth));
    if (!std::isfinite(row.sides.back())) row.sides.back() = kNaN;
  }
  for (const SideFigure& side : report_row.sides)
    if (report_row.metric->has_number()) row.runs.push_back(report.rollup().run_numbers(side.at));
  if (!report_row.changes.empty() && report_row.changes.back().test_result)
    row.test_result = remove_floor(*report_row.changes.back().test_result);
  return row;
}

// Returns the magnitude of the row's change, or of its only figure.
double get_magnitude(const PageRow& row) {
  return std::abs(row.sides.size() > 1 ? row.get_change() : row.sides[0]);
}

// Returns totals by metric: the sum of all groups on the larger side, or their maximum if the
// figures are not sums.
std::vector<double> compute_totals(const Report& report, const std::vector<PageRow>& rows) {
  std::vector<double> totals(report.metrics().size());
  for (std::size_t side = 0; side < report.sides().size(); ++side) {
    std::vector<double> side_totals(totals.size());
    for (const PageRow& row : rows) {
      if (std::isnan(row.sides[side])) continue;
      const PlannedMetric& metric = report.metrics()[row.at.metric];
      double& total = side_totals[row.at.metric];
      const double figure = std::abs(row.sides[side]);
      total = metric.is_sum || metric.is_cumulative ? total + figure : std::max(total, figure);
    }
    for (std::size_t at = 0; at < totals.size(); ++at)
      totals[at] = std::max(totals[at], side_totals[at]);
  }
  return totals;
}

PageRows make_metric_rows(const Report& report) {
  PageRows found;
  const auto begin_section = [&](const Section& section) {
    found.quiet_figures += section.unchanged_rows + section.rows_without_value + section.over_limit;
  };
  const auto add_row = [&](const MetricRow& row) { found.rows.push_back(make_row(report, row)); };
  visit_sections(report, {begin_section, add_row});
  const auto total_by_metric = compute_totals(report, found.rows);
  for (PageRow& row : found.rows) {
    const double total = total_by_metric[row.at.metric];
    row.share = total > 0 ? get_magnitude(row) / total : kNaN;
  }
  return found;
}

// Removes the figures of runs if no side has several runs.
void drop_single_runs(PageRow& row) {
  if (std::ranges::all_of(row.runs, [](const auto& side) { return side.size() < 2; }))
    row.runs.clear();
}

double get_sort_share(const PageRow& row) { return std::isnan(row.share) ? -1 : row.share; }

// Sorts significant rows first; see the header.
void sort_rows(std::vector<PageRow>& rows) {
  const bool is_any_significant = std::ranges::any_of(rows, &PageRow::is_significant);
  const auto get_unadjusted_p = [&](const PageRow& row) {
    return row.test_result && !is_any_significant ? row.test_result->unadjusted_p : 1;
  };
  std::ranges::stable_sort(rows, [&](const PageRow& a, const PageRow& b) {
    if (a.is_significant() != b.is_significant()) return a.is_significant();
    if (a.test_result.has_value() != b.test_result.has_value()) return a.test_result.has_value();
    if (get_unadjusted_p(a) != get_unadjusted_p(b))
      return get_unadjusted_p(a) < get_unadjusted_p(b);
    if (get_sort_share(a) != get_sort_share(b)) return get_sort_share(a) > get_sort_share(b);
    return std::tie(a.group, a.metric) < std::tie(b.group, b.metric);
  });
}

}  // namespace

double PageRow::get_change() const { return sides.size() < 2 ? kNaN : sides[1] - sides[0]; }

double PageRow::get_relative_change() const {
  return sides.size() < 2 || sides[0] == 0 ? kNaN : get_change() / std::abs(sides[0]);
}

PageRows make_page_rows(const Report& report, bool details) {
  PageRows found =
      report.screen() && !details ? HeadlineRows(report).make_rows() : make_metric_rows(report);
  if (report.screen()) found.about = HeadlineRows(report).make_about_rows();
  std::set<std::uint32_t> groups;
  for (PageRow& row : found.rows) {
    groups.insert(row.at.group);
    found.are_tested = found.are_tested || row.test_result;
    row.is_insignificant = report.families().can_test() && !row.is_significant();
    drop_single_runs(row);
  }
  found.groups = groups.size();
  for (PageRow& row : found.about) {
    row.is_insignificant = report.families().can_test() && !row.is_significant();
    drop_single_runs(row);
  }
  sort_rows(found.rows);
  sort_rows(found.about);
  return found;
}

}  // namespace ctprof
