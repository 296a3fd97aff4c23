// The first screen: what happened in a window, or differs between windows, at a glance.
//
// A row is a group, a column a headline (ctprof_headline): ours, then those of a third party. The
// rows are in the order of their scores: the largest share of the machine's time or memory that the
// group has by any column (screen_weight.hpp), at most 1.
//
//   of one window    the figure; of a level what it is, or what it changed by if that is more
//   of several       the change of the figure
//
// Ties are ordered by name. Sorting by columns replaces the order (screen_order.hpp).
//
// Where sides of several runs are judged, rows of which a change is proven come first, and proven
// changes alone decide their scores. If no change of any row is proven, rows are in the order of
// the smallest p that a figure of theirs has by itself (Proof::p_alone), then of their scores.
//
// Cgroups are in the order of a tree (screen_tree.hpp) when they are what rows are grouped by.
//
// Groups that reach no floor on any side, and whose threads neither became many more nor many fewer
// (kThreadsFloor), stay out, and are counted: the threads of kernel threads,
// the groups of the rest. A headline that counts by change alone brings nobody in. So do the
// threads of the process that recorded. Figures are per second of the time between both readings of
// threads, percentages of one CPU.
//
// Not here: which rows and columns fit, how figures are written (render/screen_text.hpp).

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/compare/evidence/evidence.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/one_boot.hpp"
#include "core/compare/figures/rollup.hpp"
#include "core/compare/figures/run_facts.hpp"
#include "core/compare/grouping/grouping.hpp"
#include "core/compare/report/screen_weight.hpp"

namespace ctprof {

// The threads of a group of one side: of several runs medians, which can end in a half.
struct ScreenThreads {
  double living = 0;  // when the window closed
  double born = 0;    // inside, those that ended again included
  double ended = 0;   // that stand in rows
  double own = 0;     // of the process that recorded, and of its helpers
  double kernel = 0;
  double opening_only = 0;  // when the window opened, and in no row of it (Window::opening_only)

  double all() const { return living + ended; }
  ScreenThreads& operator+=(const ScreenThreads& other);
};

// A group whose number of living threads changed by so many, inside a window or between windows, is
// not quiet.
inline constexpr double kThreadsFloor = 20;
// What it changed by inside the window.
double thread_growth(const ScreenThreads& threads);

// By group. REQUIRES: the snapshot is a window.
// `of_opening_only`: groups of the threads that only its opening has.
std::vector<ScreenThreads> screen_threads(const GroupedThreads& threads, std::size_t groups,
                                          std::span<const std::uint32_t> of_opening_only = {});

// Of a side's runs the medians of all counts (median_count). Keeps what each
// run has, not what it lacks: runs of hosts that have little in common have many groups together.
class ScreenMedians {
 public:
  // By group.
  void add(std::span<const ScreenThreads> run);
  // REQUIRES: one run was added at least.
  std::vector<ScreenThreads> of(std::size_t groups) &&;

 private:
  struct Found {
    std::uint32_t group;
    ScreenThreads threads;
  };
  std::size_t runs_ = 0;
  std::vector<Found> found_;
};

// One side's figure of a group, NaN where it is not known. A side that has nothing to count in the
// group has 0.
struct ScreenFigure {
  double value = 0;              // percent, per second, or the level when the window closed
  double change = 0;             // of a level, since the window opened; 0 for the others
  bool is_new = false;           // a level of what was all born inside
  std::optional<Proof> proof{};  // of its difference from the first side's
};

struct ScreenColumn {
  std::size_t metric = 0;  // in the plan
  Headline headline;
  double floor = 0;            // in the figures' unit
  std::vector<double> totals;  // by side, of all groups together; of a level, of all changes
  Weight weight;
};

struct ScreenRow {
  std::uint32_t group = 0;
  double score = 0;
  std::size_t decided_by = 0;          // the column of the score
  bool has_moved = false;              // that column has a figure, or a change of it
  bool is_proven = false;              // that column's change is
  double p_alone = 1;                  // that column's, where nothing on the screen is proven
  std::vector<ScreenThreads> threads;  // by side
  std::vector<ScreenFigure> figures;   // by column, then by side
  // In a tree of cgroups: how many rows it is below, and the group of the nearest.
  std::size_t depth = 0;
  std::uint32_t below = 0;

  // In one window: all its threads were born inside. Of several: it has threads on the last side,
  // and none on the first.
  bool is_new() const;
  // All ended inside; or it has threads on the first side, and none on the last.
  bool is_gone() const;
};

struct Screen {
  Machine machine;
  std::vector<ScreenColumn> columns;
  std::vector<ScreenRow> rows;
  std::size_t quiet_groups = 0;
  // The most threads of a side; half a thread of a median counts as one.
  std::uint64_t quiet_kernel_threads = 0, own_threads = 0;
  std::vector<std::string> no_place;  // labels of headlines beyond what a screen can have
  // Rows of the groups of Spec::about, with proofs of their own family.
  std::vector<ScreenRow> about_rows;

  std::span<const ScreenFigure> figures(const ScreenRow& row, std::size_t column) const {
    const std::size_t sides = row.threads.size();
    return std::span(row.figures).subspan(column * sides, sides);
  }
  // The row's share of the machine by the column, of which the largest is its score; NaN where it
  // is unknown.
  double share(const ScreenRow& row, std::size_t column) const;
};

// The figure that the column orders by: of one side its own, of several the change of the one that
// changed most. NaN where that is not known.
double moved(const ScreenColumn& column, std::span<const ScreenFigure> figures);

// The figure that the row's share is of: as `moved`, but of one side's level what it is, or what it
// changed by if that is more.
double weighed(const ScreenColumn& column, std::span<const ScreenFigure> figures);

// The smallest p of any side's change by itself; 1 where none is judged.
double least_p_alone(std::span<const ScreenFigure> figures);

// Whether the change of any side is proven.
bool any_proven(std::span<const ScreenFigure> figures);

// A screen of columns alone; none: the files know of no headlines.
Screen screen_columns(const MetricPlan& plan, const Machine& machine = {});

// The groups that the user selected before the comparison, and their own family.
struct AboutGroups {
  std::span<const std::uint32_t> groups{};  // ascending
  const Evidence* evidence = nullptr;       // null where nothing is judged
};

// Fills its rows. `headlines`: what is known of their changes; may be null. REQUIRES: the sides are
// windows; `threads` has the groups of each.
Screen make_screen(Screen columns, const MetricPlan& plan, const Grouping& grouping,
                   const Rollup& rollup, std::span<const RunFacts> sides,
                   std::vector<std::vector<ScreenThreads>> threads,
                   const Evidence* headlines = nullptr, const AboutGroups& about = {});

// What a figure of the metric is where it is told per second: percent of one CPU, or itself.
// REQUIRES: it is a column of the screen.
double screen_figure(const PlannedMetric& metric, double per_second);

}  // namespace ctprof
