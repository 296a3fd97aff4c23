#include "core/render/displayed_figures.hpp"

#include <algorithm>
#include <span>

#include "core/base/number.hpp"

namespace ctprof {
namespace {

bool is_shown_per_thread(const ScreenColumn& column) {
  return column.headline.orders_by_change && column.headline.shown == CTPROF_SHOWN_PERCENT;
}

// A group whose processes all exited has no memory level, and neither have kernel threads.
bool has_known_value(const Report& report, const ScreenRow& row, std::size_t side, std::size_t at) {
  const Screen& screen = *report.screen();
  const ScreenColumn& column = screen.columns[at];
  if (column.headline.shown != CTPROF_SHOWN_LEVEL || screen.figures(row, at)[side].value != 0)
    return true;
  return report.rollup().coverage({side, row.group, column.metric}).values > 0;
}

}  // namespace

DisplayedFigures compute_displayed_figures(const Report& report, const ScreenRow& row,
                                           std::size_t at) {
  const Screen& screen = *report.screen();
  const ScreenColumn& column = screen.columns[at];
  const auto figures = screen.figures(row, at);
  DisplayedFigures shown;
  for (const ScreenFigure& figure : figures) shown.sides.push_back(figure.value);
  if (const auto& test_result = figures.back().test_result; figures.size() == 2 && test_result) {
    const PlannedMetric& metric = report.metrics()[column.metric];
    shown.is_tested = true;
    shown.sides = {to_screen_value(metric, test_result->baseline_mean),
                   to_screen_value(metric, test_result->candidate_mean)};
  }
  const bool have_equal_threads = std::ranges::all_of(row.threads, [&](const ScreenThreads& side) {
    return side.total() == row.threads.front().total();
  });
  const bool is_per_thread =
      is_shown_per_thread(column) && (!shown.is_tested || have_equal_threads);
  for (std::size_t side = 0; side < figures.size(); ++side) {
    shown.divisor.push_back(is_per_thread ? std::max(row.threads[side].total(), 1.0) : 1);
    shown.sides[side] /= shown.divisor[side];
    if (!has_known_value(report, row, side, at)) shown.sides[side] = kNaN;
  }
  return shown;
}

}  // namespace ctprof
