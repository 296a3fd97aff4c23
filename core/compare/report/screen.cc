#include "core/compare/report/screen.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/number.hpp"

namespace ctprof {
namespace {

// Limits the columns, because a file can declare any number of headlines.
constexpr std::size_t kMaxOwnColumns = 16, kMaxThirdPartyColumns = 3;

// Returns 0 for other units.
double ns_per_unit(std::string_view unit) { return unit == "ns" ? 1 : unit == "us" ? 1e3 : 0; }

// For a metric that is not a gauge, the screen value is this scale times the reading, divided by
// the window's length in ns.
double screen_scale(const PlannedMetric& metric) {
  const bool is_percent = metric.headline->shown == CTPROF_SHOWN_PERCENT;
  return is_percent ? 100 * ns_per_unit(metric.unit) : kNsPerSecond;
}

// Returns the floor in the unit of the column; the headline's floor is per second. For memory, the
// floor is at most a share of the host's memory.
double floor_of(const PlannedMetric& metric, const MachineCapacity& machine) {
  constexpr double kShareOfMemory = 0.01;
  const Headline& headline = *metric.headline;
  if (headline.shown != CTPROF_SHOWN_LEVEL)
    return headline.floor * screen_scale(metric) / kNsPerSecond;
  const bool is_share = metric.unit == "bytes" && machine.memory_bytes > 0;
  return is_share ? std::min(headline.floor, kShareOfMemory * machine.memory_bytes)
                  : headline.floor;
}

// Keys of maps are shown only in their map, and on the first screen if they are a column.
bool can_be_shown(const PlannedMetric& metric) {
  const bool is_shown = metric.is_shown || metric.key;
  return metric.headline && is_shown && !metric.is_omitted && metric.has_number() &&
         (metric.entity == Entity::Thread || metric.entity == Entity::Process ||
          metric.entity == Entity::Cgroup) &&
         screen_scale(metric) > 0;
}

bool is_level(const ScreenColumn& column) { return column.headline.shown == CTPROF_SHOWN_LEVEL; }

}  // namespace

Screen screen_columns(const MetricPlan& plan, const MachineCapacity& machine) {
  Screen screen;
  screen.machine = machine;
  std::vector<ScreenColumn>& columns = screen.columns;
  for (std::size_t at = 0; at < plan.metrics.size(); ++at)
    if (const PlannedMetric& metric = plan.metrics[at]; can_be_shown(metric))
      columns.push_back({at, *metric.headline, floor_of(metric, machine), {}, {}});
  std::ranges::stable_sort(columns, {}, [&](const ScreenColumn& column) {
    return std::pair(plan.metrics[column.metric].is_third_party, column.headline.order);
  });
  std::size_t free_columns[] = {kMaxOwnColumns, kMaxThirdPartyColumns};
  std::erase_if(columns, [&](const ScreenColumn& column) {
    std::size_t& left = free_columns[plan.metrics[column.metric].is_third_party];
    if (left == 0) screen.omitted_labels.push_back(column.headline.label);
    return left == 0 || (--left, false);
  });
  return screen;
}

namespace {

// Computes the values of the screen.

class ScreenBuilder {
 public:
  ScreenBuilder(Screen columns, const MetricPlan& plan, const Grouping& grouping,
                const Rollup& rollup, std::span<const RunFacts> sides,
                std::vector<std::vector<ScreenThreads>> threads, const Evidence* headlines,
                const AboutGroups& about)
      : plan_(&plan),
        grouping_(&grouping),
        rollup_(&rollup),
        sides_(sides),
        threads_(std::move(threads)),
        headlines_(headlines),
        about_(about),
        screen_(std::move(columns)) {}

  Screen make() {
    for (std::uint32_t group = 0; group < grouping_->names.size(); ++group)
      if (exists_on_any_side(group)) screen_.rows.push_back(make_row(group));
    for (std::size_t column = 0; column < screen_.columns.size(); ++column) {
      add_totals(column);
      ScreenColumn& screen_column = screen_.columns[column];
      screen_column.weight =
          column_weight(screen_column.headline, screen_column.floor, screen_column.totals,
                        plan_->metrics[screen_column.metric], screen_.machine);
    }
    copy_about_rows();
    order_rows(screen_.rows);
    order_rows(screen_.about_rows);
    std::erase_if(screen_.rows, [&](const ScreenRow& row) { return omit_if_quiet(row); });
    return std::move(screen_);
  }

 private:
  // Copies the rows before quiet ones are removed.
  void copy_about_rows() {
    for (const ScreenRow& row : screen_.rows) {
      if (!std::ranges::binary_search(about_.groups, row.group)) continue;
      ScreenRow& copy = screen_.about_rows.emplace_back(row);
      for (std::size_t at = 0; at < copy.figures.size(); ++at) {
        const std::size_t side = at % sides_.size();
        const std::size_t metric = screen_.columns[at / sides_.size()].metric;
        copy.figures[at].test_result = about_.evidence && side > 0
                                           ? about_.evidence->find_result(copy.group, metric, side)
                                           : std::nullopt;
      }
    }
  }

  void order_rows(std::vector<ScreenRow>& rows) const {
    for (ScreenRow& row : rows) compute_score(row);
    const bool is_any_significant = std::ranges::any_of(rows, &ScreenRow::is_significant);
    if (headlines_ && !is_any_significant)
      for (ScreenRow& row : rows) rank_by_unadjusted_p(row);
    std::ranges::stable_sort(rows, {}, [](const ScreenRow& row) {
      return std::tuple(!row.is_significant, row.unadjusted_p, -row.score);
    });
  }

  double share_or_negative(const ScreenRow& row, std::size_t at) const {
    const double share = screen_.share(row, at);
    return std::isnan(share) ? -1 : share;
  }

  // The column with the smallest p determines the rank; of several, the one with the largest share.
  void rank_by_unadjusted_p(ScreenRow& row) const {
    for (std::size_t at = 0; at < screen_.columns.size(); ++at) {
      const double p = min_unadjusted_p(screen_.figures(row, at));
      const bool has_larger_share =
          share_or_negative(row, at) > share_or_negative(row, row.score_column);
      if (p > row.unadjusted_p || p == 1 || (p == row.unadjusted_p && !has_larger_share)) continue;
      row.unadjusted_p = p;
      row.score_column = at;
      row.has_score_value = true;
    }
  }

  bool exists_on_any_side(std::uint32_t group) const {
    for (std::size_t side = 0; side < sides_.size(); ++side)
      if (grouping_->has_group(side, group)) return true;
    return false;
  }

  ScreenRow make_row(std::uint32_t group) const {
    ScreenRow row;
    row.group = group;
    for (const auto& side_threads : threads_) row.threads.push_back(side_threads[group]);
    for (const ScreenColumn& column : screen_.columns)
      for (std::size_t side = 0; side < sides_.size(); ++side)
        row.figures.push_back(figure({side, group, column.metric}));
    return row;
  }

  ScreenFigure figure(CellPosition at) const {
    ScreenFigure found = figure_without_test(at);
    if (headlines_ && at.side > 0)
      found.test_result = headlines_->find_result(at.group, at.metric, at.side);
    return found;
  }

  ScreenFigure figure_without_test(CellPosition at) const {
    const PlannedMetric& metric = plan_->metrics[at.metric];
    const CellValue cell = rollup_->read(at);
    const bool is_level = metric.headline->shown == CTPROF_SHOWN_LEVEL;
    // If all processes of a group exited, the change is known although no row is left.
    const OpeningState opening =
        is_level && cell.coverage.rows == 0 ? rollup_->opening_state(at) : OpeningState::None;
    const bool was_present_at_opening = opening == OpeningState::Present;
    if (opening == OpeningState::Unknown) return {.change = kNaN};
    if (cell.coverage.rows == 0 && !was_present_at_opening) return {};
    ScreenFigure figure{was_present_at_opening ? 0 : as_double(cell.number)};
    if (!std::isfinite(figure.value)) figure.value = kNaN;
    if (!is_level) {
      figure.value = figure.value * screen_scale(metric) / duration_ns(at);
      return figure;
    }
    const Difference change = rollup_->change(at);
    figure.change = change.is_known() ? change.real : kNaN;
    figure.is_new = rollup_->opening_state(at) == OpeningState::Started;
    return figure;
  }

  // Returns the duration of the reading in ns: one second if the value is already per second,
  // otherwise the window; NaN if the window has no length.
  double duration_ns(CellPosition at) const {
    if (rollup_->is_per_second(at.metric)) return kNsPerSecond;
    const double covered = rollup_->covered_ns(at.side, at.metric);
    const double time = covered > 0 ? covered : sides_[at.side].window->rates_over_ns;
    return time > 0 ? time : kNaN;
  }

  // Values that are not sums, such as a maximum over threads, use the largest value as their total.
  bool is_additive(const ScreenColumn& column) const {
    const PlannedMetric& metric = plan_->metrics[column.metric];
    return metric.is_sum || (metric.expression && metric.is_cumulative);
  }

  void add_totals(std::size_t at) {
    ScreenColumn& column = screen_.columns[at];
    const bool is_sum = is_additive(column);
    column.totals.resize(is_level(column) ? 1 : sides_.size());
    const auto add = [&](double& total, double figure) {
      if (std::isnan(figure)) return;
      total = is_sum ? total + std::abs(figure) : std::max(total, std::abs(figure));
    };
    for (const ScreenRow& row : screen_.rows) {
      const auto figures = screen_.figures(row, at);
      if (is_level(column)) add(column.totals.front(), ordering_value(column, figures));
      for (std::size_t side = 0; !is_level(column) && side < figures.size(); ++side)
        add(column.totals[side], figures[side].value);
    }
  }

  // Uses only columns with a significant change if there are any, otherwise all columns. If no
  // column has a share of the machine, the row shows the column with the largest share of its
  // total.
  void compute_score(ScreenRow& row) const {
    double largest_share_of_total = 0;
    for (std::size_t at = 0; at < screen_.columns.size(); ++at) {
      const double share = screen_.share(row, at), share_in_total = share_of_total(row, at);
      const bool is_significant = has_significant_change(screen_.figures(row, at));
      if (is_significant < row.is_significant) continue;
      const bool is_first = is_significant > row.is_significant;
      const bool has_higher_score =
          share > row.score || (row.score == 0 && share_in_total > largest_share_of_total);
      if (!is_first && !has_higher_score) continue;
      row.is_significant = is_significant;
      row.score = std::isnan(share) ? 0 : share;
      row.score_column = at;
      row.has_score_value = row.score > 0 || share_in_total > 0;
      largest_share_of_total = share_in_total;
    }
  }

  double share_of_total(const ScreenRow& row, std::size_t at) const {
    const ScreenColumn& column = screen_.columns[at];
    if (column.headline.orders_by_change) return 0;
    const double total = std::max(std::ranges::max(column.totals), column.floor);
    return total > 0 ? std::abs(ordering_value(column, screen_.figures(row, at))) / total : 0;
  }

  // Returns whether a value of the row reaches the column's floor on any side. Headlines that count
  // only by change, such as blocked time, always change a little, because the threads are not all
  // read at the same time; they do not count.
  bool reaches_floor(const ScreenRow& row, std::size_t at) const {
    const ScreenColumn& column = screen_.columns[at];
    const auto figures = screen_.figures(row, at);
    const auto reaches = [&](double figure) {
      return figure != 0 && std::abs(figure) >= column.floor;
    };
    if (column.headline.orders_by_change) return false;
    if (sides_.size() > 1 && reaches(ordering_value(column, figures))) return true;
    return std::ranges::any_of(figures, [&](const ScreenFigure& figure) {
      return reaches(is_level(column) ? figure.change : figure.value);
    });
  }

  static bool has_thread_change(const ScreenRow& row) {
    const double between = row.threads.back().living - row.threads.front().living;
    return std::abs(between) >= kThreadsFloor ||
           std::ranges::any_of(row.threads, [](const ScreenThreads& side) {
             return std::abs(thread_growth(side)) >= kThreadsFloor;
           });
  }

  bool omit_if_quiet(const ScreenRow& row) {
    ScreenThreads largest_side;
    bool is_own = true, is_kernel = true;
    for (const ScreenThreads& side : row.threads) {
      is_own = is_own && side.of_recorder == side.total();
      is_kernel = is_kernel && side.kernel_threads == side.total();
      largest_side.living = std::max(largest_side.living, side.total());
    }
    const auto threads = static_cast<std::uint64_t>(std::ceil(largest_side.living));
    if (threads > 0 && is_own) return screen_.own_threads += threads, true;
    if (row.is_significant || (!is_kernel && has_thread_change(row))) return false;
    for (std::size_t at = 0; at < screen_.columns.size(); ++at)
      if (reaches_floor(row, at)) return false;
    if (threads > 0 && is_kernel)
      screen_.quiet_kernel_threads += threads;
    else
      ++screen_.quiet_groups;
    return true;
  }

  const MetricPlan* plan_;
  const Grouping* grouping_;
  const Rollup* rollup_;
  std::span<const RunFacts> sides_;
  std::vector<std::vector<ScreenThreads>> threads_;
  const Evidence* headlines_;
  AboutGroups about_;
  Screen screen_;
};

}  // namespace

bool ScreenRow::is_new() const {
  const ScreenThreads &first = threads.front(), &last = threads.back();
  if (last.total() == 0) return false;
  if (threads.size() > 1) return first.total() == 0;
  return last.started == last.total() && last.only_at_opening == 0;
}

bool ScreenRow::has_disappeared() const {
  const ScreenThreads &first = threads.front(), &last = threads.back();
  if (first.total() == 0) return false;
  return threads.size() == 1 ? last.living == 0 : last.total() == 0;
}

double min_unadjusted_p(std::span<const ScreenFigure> figures) {
  double smallest = 1;
  for (const ScreenFigure& figure : figures)
    if (figure.test_result) smallest = std::min(smallest, figure.test_result->unadjusted_p);
  return smallest;
}

bool has_significant_change(std::span<const ScreenFigure> figures) {
  return std::ranges::any_of(figures, [](const ScreenFigure& figure) {
    return figure.test_result && figure.test_result->is_significant;
  });
}

double ordering_value(const ScreenColumn& column, std::span<const ScreenFigure> figures) {
  if (figures.size() == 1) return is_level(column) ? figures[0].change : figures[0].value;
  double largest = kNaN;
  for (const ScreenFigure& figure : figures.subspan(1)) {
    const double change = figure.value - figures[0].value;
    if (std::isnan(largest) || std::abs(change) > std::abs(largest)) largest = change;
  }
  return largest;
}

double share_value(const ScreenColumn& column, std::span<const ScreenFigure> figures) {
  if (figures.size() > 1 || !is_level(column)) return ordering_value(column, figures);
  const double value = std::abs(figures[0].value), change = std::abs(figures[0].change);
  return std::isnan(value) || change > value ? change : value;
}

double to_screen_value(const PlannedMetric& metric, double per_second) {
  const bool is_level = metric.headline->shown == CTPROF_SHOWN_LEVEL;
  return is_level ? per_second : per_second * screen_scale(metric) / kNsPerSecond;
}

double Screen::share(const ScreenRow& row, std::size_t at) const {
  return columns[at].weight.share_of(share_value(columns[at], figures(row, at)));
}

Screen make_screen(Screen columns, const MetricPlan& plan, const Grouping& grouping,
                   const Rollup& rollup, std::span<const RunFacts> sides,
                   std::vector<std::vector<ScreenThreads>> threads, const Evidence* headlines,
                   const AboutGroups& about) {
  return ScreenBuilder(std::move(columns), plan, grouping, rollup, sides, std::move(threads),
                       headlines, about)
      .make();
}

}  // namespace ctprof
