#include "core/render/shown_figures.hpp"

#include <algorithm>
#include <span>

namespace ctprof {
namespace {

bool is_shown_per_thread(const ScreenColumn& column) {
  return column.headline.by_change && column.headline.shown == CTPROF_SHOWN_PERCENT;
}

}  // namespace

ShownFigures shown_figures(const Report& report, const ScreenRow& row, std::size_t at) {
  const Screen& screen = *report.screen();
  const ScreenColumn& column = screen.columns[at];
  const auto figures = screen.figures(row, at);
  ShownFigures shown;
  for (const ScreenFigure& figure : figures) shown.sides.push_back(figure.value);
  if (const auto& proof = figures.back().proof; figures.size() == 2 && proof) {
    const PlannedMetric& metric = report.metrics()[column.metric];
    shown.is_pair = true;
    shown.sides = {screen_figure(metric, proof->before), screen_figure(metric, proof->after)};
  }
  const bool are_as_many = std::ranges::all_of(row.threads, [&](const ScreenThreads& side) {
    return side.all() == row.threads.front().all();
  });
  const bool divides = is_shown_per_thread(column) && (!shown.is_pair || are_as_many);
  for (std::size_t side = 0; side < figures.size(); ++side) {
    shown.divisor.push_back(divides ? std::max(row.threads[side].all(), 1.0) : 1);
    shown.sides[side] /= shown.divisor[side];
  }
  return shown;
}

}  // namespace ctprof
