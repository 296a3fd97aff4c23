#include "core/compare/report/screen.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/number.hpp"
#include "core/registry/identity.hpp"
#include "core/window/merge_ended.hpp"

namespace ctprof {
namespace {

// A file may declare any number of headlines.
constexpr std::size_t kMostOfOurs = 16, kMostOfThirdParties = 3;

// --- threads
// --------------------------------------------------------------------------------------------

const Column* column_of(const Snapshot& snapshot, std::string_view name, Storage storage) {
  const Column* column = snapshot.threads().find(name);
  return column && column->def().storage == storage ? column : nullptr;
}

bool is_set(const Column* flag, std::size_t row) {
  return flag && flag->has_value(row) && flag->bools()[row] != 0;
}

// Which rows are of the process that recorded, or of its helpers: children of it that are not of
// the command.
class OwnRows {
 public:
  explicit OwnRows(const Snapshot& snapshot)
      : tgids_(column_of(snapshot, kTgid, Storage::U64)),
        parents_(column_of(snapshot, kParent, Storage::U64)),
        descendants_(column_of(snapshot, kDescendant, Storage::Bool)) {
    const auto& listed = snapshot.meta.own_threads;
    const std::unordered_set<std::uint64_t> own(listed.begin(), listed.end());
    const Column* tids = column_of(snapshot, kTid, Storage::U64);
    for (std::size_t row = 0; tids && tgids_ && !own_ && row < snapshot.window->living; ++row)
      if (own.contains(tids->u64()[row])) own_ = tgids_->u64()[row];
  }

  bool contains(std::size_t row) const {
    if (!own_) return false;
    const bool is_child = parents_ && parents_->has_value(row) && parents_->u64()[row] == *own_;
    // Without BPF it is unknown whether a process that exited was the command or its child.
    const bool may_descend =
        descendants_ && (!descendants_->has_value(row) || is_set(descendants_, row));
    return tgids_->u64()[row] == *own_ || (is_child && !may_descend);
  }

 private:
  const Column *tgids_, *parents_, *descendants_;
  std::optional<std::uint64_t> own_;
};

// --- columns
// --------------------------------------------------------------------------------------------

// 0 for what is no unit of time.
double ns_per(std::string_view unit) { return unit == "ns" ? 1 : unit == "us" ? 1e3 : 0; }

// A figure that is no level is this times a reading, over the window's length in ns.
double scale_of(const PlannedMetric& metric) {
  const bool is_percent = metric.headline->shown == CTPROF_SHOWN_PERCENT;
  return is_percent ? 100 * ns_per(metric.unit) : kNsPerSecond;
}

// The headline's floor is per second.
double floor_of(const PlannedMetric& metric) {
  const Headline& headline = *metric.headline;
  const bool is_level = headline.shown == CTPROF_SHOWN_LEVEL;
  return is_level ? headline.floor : headline.floor * scale_of(metric) / kNsPerSecond;
}

bool can_be_shown(const PlannedMetric& metric) {
  return metric.headline && metric.shown && !metric.left_out && metric.has_number() &&
         (metric.entity == Entity::Thread || metric.entity == Entity::Process ||
          metric.entity == Entity::Cgroup) &&
         scale_of(metric) > 0;
}

bool is_level(const ScreenColumn& column) { return column.headline.shown == CTPROF_SHOWN_LEVEL; }

}  // namespace

Screen screen_columns(const MetricPlan& plan) {
  Screen screen;
  std::vector<ScreenColumn>& columns = screen.columns;
  for (std::size_t at = 0; at < plan.metrics.size(); ++at)
    if (const PlannedMetric& metric = plan.metrics[at]; can_be_shown(metric))
      columns.push_back({at, *metric.headline, floor_of(metric), {}});
  std::ranges::stable_sort(columns, {}, [&](const ScreenColumn& column) {
    return std::pair(plan.metrics[column.metric].is_third_party, column.headline.order);
  });
  std::size_t room[] = {kMostOfOurs, kMostOfThirdParties};
  std::erase_if(columns, [&](const ScreenColumn& column) {
    std::size_t& left = room[plan.metrics[column.metric].is_third_party];
    if (left == 0) screen.no_place.push_back(column.headline.label);
    return left == 0 || (--left, false);
  });
  return screen;
}

namespace {

// --- figures
// --------------------------------------------------------------------------------------------

class ScreenMaker {
 public:
  ScreenMaker(Screen columns, const MetricPlan& plan, const Grouping& grouping,
              const Rollup& rollup, std::span<const RunFacts> sides,
              std::vector<std::vector<ScreenThreads>> threads, const Evidence* headlines)
      : plan_(&plan),
        grouping_(&grouping),
        rollup_(&rollup),
        sides_(sides),
        threads_(std::move(threads)),
        headlines_(headlines),
        screen_(std::move(columns)) {}

  Screen make() {
    for (std::uint32_t group = 0; group < grouping_->names.size(); ++group)
      if (has_any(group)) screen_.rows.push_back(row_of(group));
    for (std::size_t column = 0; column < screen_.columns.size(); ++column) add_up(column);
    for (ScreenRow& row : screen_.rows) score(row);
    std::erase_if(screen_.rows, [&](const ScreenRow& row) { return stays_out(row); });
    std::ranges::stable_sort(screen_.rows, std::ranges::greater{}, [](const ScreenRow& row) {
      return std::pair(row.is_proven, row.score);
    });
    return std::move(screen_);
  }

 private:
  bool has_any(std::uint32_t group) const {
    for (std::size_t side = 0; side < sides_.size(); ++side)
      if (grouping_->has(side, group)) return true;
    return false;
  }

  ScreenRow row_of(std::uint32_t group) const {
    ScreenRow row;
    row.group = group;
    for (const auto& of_side : threads_) row.threads.push_back(of_side[group]);
    for (const ScreenColumn& column : screen_.columns)
      for (std::size_t side = 0; side < sides_.size(); ++side)
        row.figures.push_back(figure({side, group, column.metric}));
    return row;
  }

  ScreenFigure figure(CellAt at) const {
    ScreenFigure found = figure_alone(at);
    if (headlines_ && at.side > 0) found.proof = headlines_->of(at.group, at.metric, at.side);
    return found;
  }

  ScreenFigure figure_alone(CellAt at) const {
    const PlannedMetric& metric = plan_->metrics[at.metric];
    const CellValue cell = rollup_->read(at);
    const bool is_level = metric.headline->shown == CTPROF_SHOWN_LEVEL;
    // Of a group whose processes all exited, the change is known although no row is left.
    const Beginning left =
        is_level && cell.coverage.rows == 0 ? rollup_->beginning(at) : Beginning::None;
    const bool has_left = left == Beginning::There;
    if (left == Beginning::Unknown) return {.change = kNaN};
    if (cell.coverage.rows == 0 && !has_left) return {};
    ScreenFigure figure{has_left ? 0 : as_double(cell.number)};
    if (!std::isfinite(figure.value)) figure.value = kNaN;
    if (!is_level) {
      figure.value = figure.value * scale_of(metric) / length(at);
      return figure;
    }
    const Difference change = rollup_->change(at);
    figure.change = change.known() ? change.real : kNaN;
    figure.is_new = rollup_->beginning(at) == Beginning::Born;
    return figure;
  }

  // What the reading is of, in ns: a second where it is told by seconds already; else the window,
  // NaN if that has no length.
  double length(CellAt at) const {
    if (rollup_->per_second(at.metric)) return kNsPerSecond;
    const double covered = rollup_->covered_ns(at.side, at.metric);
    const double time = covered > 0 ? covered : sides_[at.side].window->rates_over_ns;
    return time > 0 ? time : kNaN;
  }

  // Figures that are no sums, such as the largest of some threads, have no total but the largest.
  bool adds_up(const ScreenColumn& column) const {
    const PlannedMetric& metric = plan_->metrics[column.metric];
    return metric.is_sum || (metric.expression && metric.adds_up);
  }

  void add_up(std::size_t at) {
    ScreenColumn& column = screen_.columns[at];
    const bool is_sum = adds_up(column);
    column.totals.resize(is_level(column) ? 1 : sides_.size());
    const auto add = [&](double& total, double figure) {
      if (std::isnan(figure)) return;
      total = is_sum ? total + std::abs(figure) : std::max(total, std::abs(figure));
    };
    for (const ScreenRow& row : screen_.rows) {
      const auto figures = screen_.figures(row, at);
      if (is_level(column)) add(column.totals.front(), moved(column, figures));
      for (std::size_t side = 0; !is_level(column) && side < figures.size(); ++side)
        add(column.totals[side], figures[side].value);
    }
  }

  // Of the columns of which a change is proven if there is any, or else of all.
  void score(ScreenRow& row) const {
    for (std::size_t at = 0; at < screen_.columns.size(); ++at) {
      const double share = screen_.share(row, at);
      const bool is_proven = any_proven(screen_.figures(row, at));
      if (is_proven < row.is_proven || !(share > row.score || is_proven > row.is_proven)) continue;
      row.is_proven = is_proven;
      row.score = share;
      row.decided_by = at;
    }
  }

  // Whether a figure of the row reaches the column's floor on any side. What counts by change
  // alone, as being blocked, changes a little of itself: windows do not read a thread at the same
  // moment.
  bool is_loud(const ScreenRow& row, std::size_t at) const {
    const ScreenColumn& column = screen_.columns[at];
    const auto figures = screen_.figures(row, at);
    const auto reaches = [&](double figure) {
      return figure != 0 && std::abs(figure) >= column.floor;
    };
    if (column.headline.by_change) return false;
    if (sides_.size() > 1 && reaches(moved(column, figures))) return true;
    return std::ranges::any_of(figures, [&](const ScreenFigure& figure) {
      return reaches(is_level(column) ? figure.change : figure.value);
    });
  }

  bool stays_out(const ScreenRow& row) {
    ScreenThreads most;
    bool is_own = true, is_kernel = true;
    for (const ScreenThreads& side : row.threads) {
      is_own = is_own && side.own == side.all();
      is_kernel = is_kernel && side.kernel == side.all();
      most.living = std::max(most.living, side.all());
    }
    const auto threads = static_cast<std::uint64_t>(std::ceil(most.living));
    if (threads > 0 && is_own) return screen_.own_threads += threads, true;
    if (row.is_proven) return false;
    for (std::size_t at = 0; at < screen_.columns.size(); ++at)
      if (is_loud(row, at)) return false;
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
  Screen screen_;
};

}  // namespace

ScreenThreads& ScreenThreads::operator+=(const ScreenThreads& other) {
  living += other.living;
  born += other.born;
  opening_only += other.opening_only;
  ended += other.ended;
  own += other.own;
  kernel += other.kernel;
  return *this;
}

std::vector<ScreenThreads> screen_threads(const GroupedThreads& threads, std::size_t groups,
                                          std::span<const std::uint32_t> of_opening_only) {
  const Snapshot& snapshot = *threads.snapshot;
  const Window& window = *snapshot.window;
  const Column* kernel = column_of(snapshot, kKernelThread, Storage::Bool);
  const OwnRows own(snapshot);
  const auto& born = window.openings[static_cast<std::size_t>(Entity::Thread)].born;
  const std::vector<std::uint64_t> each = threads_by_row(snapshot);
  std::vector<ScreenThreads> found(groups);
  for (std::size_t row = 0; row < threads.groups.size(); ++row) {
    if (threads.groups[row] == kNoGroup) continue;
    ScreenThreads& of_group = found[threads.groups[row]];
    const auto count = static_cast<double>(each[row]);
    (row < window.living ? of_group.living : of_group.ended) += count;
    if (born[row] != 0) of_group.born += count;
    if (own.contains(row)) of_group.own += count;
    if (is_set(kernel, row)) of_group.kernel += count;
  }
  for (const std::uint32_t group : of_opening_only)
    if (group != kNoGroup) ++found[group].opening_only;
  return found;
}

void ScreenMedians::add(std::span<const ScreenThreads> run) {
  ++runs_;
  for (std::uint32_t group = 0; group < run.size(); ++group)
    if (run[group].all() > 0) found_.push_back({group, run[group]});
}

std::vector<ScreenThreads> ScreenMedians::of(std::size_t groups) && {
  std::vector<ScreenThreads> medians(groups);
  std::ranges::stable_sort(found_, {}, &Found::group);
  std::vector<double> counts;
  for (auto first = found_.begin(); first != found_.end();) {
    const auto last = std::ranges::find_if(
        first, found_.end(), [&](const Found& one) { return one.group != first->group; });
    for (const auto count :
         {&ScreenThreads::living, &ScreenThreads::born, &ScreenThreads::ended, &ScreenThreads::own,
          &ScreenThreads::kernel, &ScreenThreads::opening_only}) {
      counts.assign(runs_, 0);
      std::transform(first, last, counts.begin(),
                     [&](const Found& one) { return one.threads.*count; });
      medians[first->group].*count = median_count(counts);
    }
    first = last;
  }
  return medians;
}

bool ScreenRow::is_new() const {
  const ScreenThreads &first = threads.front(), &last = threads.back();
  if (last.all() == 0) return false;
  if (threads.size() > 1) return first.all() == 0;
  return last.born == last.all() && last.opening_only == 0;
}

bool ScreenRow::is_gone() const {
  const ScreenThreads &first = threads.front(), &last = threads.back();
  if (first.all() == 0) return false;
  return threads.size() == 1 ? last.living == 0 : last.all() == 0;
}

bool any_proven(std::span<const ScreenFigure> figures) {
  return std::ranges::any_of(
      figures, [](const ScreenFigure& figure) { return figure.proof && figure.proof->proven; });
}

double moved(const ScreenColumn& column, std::span<const ScreenFigure> figures) {
  if (figures.size() == 1) return is_level(column) ? figures[0].change : figures[0].value;
  double most = kNaN;
  for (const ScreenFigure& figure : figures.subspan(1)) {
    const double change = figure.value - figures[0].value;
    if (std::isnan(most) || std::abs(change) > std::abs(most)) most = change;
  }
  return most;
}

double screen_figure(const PlannedMetric& metric, double per_second) {
  const bool is_level = metric.headline->shown == CTPROF_SHOWN_LEVEL;
  return is_level ? per_second : per_second * scale_of(metric) / kNsPerSecond;
}

double Screen::share(const ScreenRow& row, std::size_t at) const {
  const ScreenColumn& column = columns[at];
  if (column.headline.by_change && row.threads.size() == 1) return 0;
  const double whole = std::max(std::ranges::max(column.totals), column.floor);
  return std::abs(moved(column, figures(row, at))) / whole;
}

Screen make_screen(Screen columns, const MetricPlan& plan, const Grouping& grouping,
                   const Rollup& rollup, std::span<const RunFacts> sides,
                   std::vector<std::vector<ScreenThreads>> threads, const Evidence* headlines) {
  return ScreenMaker(std::move(columns), plan, grouping, rollup, sides, std::move(threads),
                     headlines)
      .make();
}

}  // namespace ctprof
