// The first screen: an overview of one window, or of the differences between windows.
//
// A row is a group, and a column is a headline (ctprof_headline): headlines of ctprof first, then
// those of third parties. Rows are ordered by score: the group's largest share of the machine's
// time or memory over all columns (screen_weight.hpp), at most 1.
//
//   one window         the value; for a gauge its level, or its change if that is larger
//   several windows    the change of the value
//
// Ties are ordered by name. Sorting by columns replaces this order (screen_order.hpp).
//
// If sides with several runs are tested, rows with a significant change come first, and only
// significant changes determine their scores. If no change of any row is significant, rows are
// ordered by the smallest unadjusted p of their values (RowTestResult::unadjusted_p), then by
// score.
//
// If the axis is `cgroup`, rows are ordered as a tree (screen_tree.hpp).
//
// A group is quiet if its values are below all floors on all sides, and its number of threads did
// not change by kThreadsFloor or more. Quiet groups are omitted and counted: by threads for kernel
// threads, otherwise by groups. A headline that counts only by its change does not make a group
// appear. Threads of the recording process are omitted and counted as well. Rates use the time
// between both readings of threads; percentages are of one CPU.
//
// See also: render/screen_text.hpp selects the rows and columns that fit, and formats values.

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

// The threads of a group on one side. For several runs these are medians, which can end in a half.
struct ScreenThreads {
  double living = 0;       // at the end of the window
  double started = 0;      // started inside, including those that exited inside
  double exited = 0;       // exited inside, and present in rows
  double of_recorder = 0;  // of the recording process and its helpers
  double kernel_threads = 0;
  double only_at_opening = 0;  // only at the opening, without a row (Window::opening_only)

  double total() const { return living + exited; }
  ScreenThreads& operator+=(const ScreenThreads& other);
};

// A group is not quiet if its number of living threads changed by at least this, inside a window or
// between windows.
inline constexpr double kThreadsFloor = 20;
// Returns the change of the number of living threads inside the window.
double thread_growth(const ScreenThreads& threads);

// Returns the threads of each group. `opening_only_groups`: the groups of threads that only the
// opening has. REQUIRES: the snapshot is a window.
std::vector<ScreenThreads> count_screen_threads(
    const GroupedThreads& threads, std::size_t groups,
    std::span<const std::uint32_t> opening_only_groups = {});

// Computes the medians of all counts over the runs of a side (median_count). Stores only groups
// that a run has, because runs of different hosts have many groups in total.
class ScreenMedians {
 public:
  // Adds the threads of a run by group.
  void add(std::span<const ScreenThreads> run);
  // REQUIRES: at least one run was added.
  std::vector<ScreenThreads> compute(std::size_t groups) &&;

 private:
  struct GroupThreads {
    std::uint32_t group;
    ScreenThreads threads;
  };
  std::size_t runs_ = 0;
  std::vector<GroupThreads> threads_;
};

// The value of a group on one side; NaN if unknown. 0 if the side has nothing to count in the
// group.
struct ScreenFigure {
  double value = 0;     // percent, per second, or the level at the end of the window
  double change = 0;    // of a gauge, since the opening of the window; 0 for other metrics
  bool is_new = false;  // a gauge whose rows all started inside the window
  std::optional<RowTestResult> test_result{};  // test of its difference from the first side
};

struct ScreenColumn {
  std::size_t metric = 0;  // index in the plan
  Headline headline;
  double floor = 0;            // in the unit of the values
  std::vector<double> totals;  // by side, over all groups; for a gauge, one total of all changes
  ColumnWeight weight;
};

struct ScreenRow {
  std::uint32_t group = 0;
  double score = 0;
  std::size_t score_column = 0;  // the column that determines the score
  bool has_score_value = false;  // that column has a value, or a change of it
  bool is_significant = false;   // that column's change is significant
  double unadjusted_p = 1;  // that column's unadjusted p, if nothing on the screen is significant
  std::vector<ScreenThreads> threads;  // by side
  std::vector<ScreenFigure> figures;   // by column, then by side
  // In a tree of cgroups: the number of ancestor rows, and the group of the nearest.
  std::size_t depth = 0;
  std::uint32_t parent_group = 0;

  // In one window: all threads of the group started inside. In several: it has threads on the last
  // side but none on the first.
  bool is_new() const;
  // In one window: all threads exited inside. In several: it has threads on the first side but none
  // on the last.
  bool has_disappeared() const;
};

struct Screen {
  MachineCapacity machine;
  std::vector<ScreenColumn> columns;
  std::vector<ScreenRow> rows;
  std::size_t quiet_groups = 0;
  // The largest number of threads on a side; half a thread of a median counts as one.
  std::uint64_t quiet_kernel_threads = 0, own_threads = 0;
  // Labels of headlines beyond the maximum number of columns.
  std::vector<std::string> omitted_labels;
  // Rows of the groups of Spec::about, tested in their own family.
  std::vector<ScreenRow> about_rows;

  std::span<const ScreenFigure> figures(const ScreenRow& row, std::size_t column) const {
    const std::size_t sides = row.threads.size();
    return std::span(row.figures).subspan(column * sides, sides);
  }
  // Returns the row's share of the machine in the column; the largest share is the score of the
  // row. NaN if unknown.
  double share(const ScreenRow& row, std::size_t column) const;
};

// Returns the value by which the column orders rows: with one side its value (for a gauge its
// change), with several sides the largest change on any side. NaN if unknown.
double ordering_value(const ScreenColumn& column, std::span<const ScreenFigure> figures);

// Returns the value from which the row's share is computed: that of ordering_value(), except for a
// gauge on one side: its level, or its change if that is larger.
double share_value(const ScreenColumn& column, std::span<const ScreenFigure> figures);

// Returns the smallest unadjusted p of any side's change; 1 if none is tested.
double min_unadjusted_p(std::span<const ScreenFigure> figures);

// Returns whether the change on any side is significant.
bool has_significant_change(std::span<const ScreenFigure> figures);

// Returns a screen with columns but without rows; without columns if the files define no headlines.
Screen screen_columns(const MetricPlan& plan, const MachineCapacity& machine = {});

// The groups that the user selected before the comparison, and the evidence of their own family.
struct AboutGroups {
  std::span<const std::uint32_t> groups{};  // ascending
  const Evidence* evidence = nullptr;       // null if nothing is tested
};

// Fills the rows of the screen. `headlines`: evidence on their changes; may be null. REQUIRES: the
// sides are windows; `threads` contains the groups of each side.
Screen make_screen(Screen columns, const MetricPlan& plan, const Grouping& grouping,
                   const Rollup& rollup, std::span<const RunFacts> sides,
                   std::vector<std::vector<ScreenThreads>> threads,
                   const Evidence* headlines = nullptr, const AboutGroups& about = {});

// Converts a rate per second to the value of the metric's screen column: percent of one CPU, or
// unchanged. REQUIRES: the metric is a column of the screen.
double to_screen_value(const PlannedMetric& metric, double per_second);

// Returns whether these are the figures of two sides whose difference was tested.
inline bool is_tested_pair(std::span<const ScreenFigure> figures) {
  return figures.size() == 2 && figures.back().test_result;
}

}  // namespace ctprof
