// A report: the result of show and compare as data, in output order.
//
// With one side, a report shows values (show); with several, differences from the first (compare).
// A side is one or several runs (rollup.hpp). A row of a section is a group and a metric; its
// values come from `rollup` and `changes`, or from the stream of rows (rows.hpp). Groups that exist
// on only one side are listed separately, with the metrics in which they are largest. A report no
// longer needs the snapshots.
//
// See also: render/ for text, JSON and CSV.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/compare/figures/change.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/one_boot.hpp"
#include "core/compare/figures/rollup.hpp"
#include "core/compare/figures/run_facts.hpp"
#include "core/compare/grouping/grouping.hpp"
#include "core/compare/report/families.hpp"
#include "core/compare/report/group_signs.hpp"
#include "core/compare/report/order.hpp"
#include "core/compare/report/reduced_runs.hpp"
#include "core/compare/report/screen.hpp"
#include "core/compare/report/stack_section.hpp"
#include "core/compare/request/spec.hpp"

namespace ctprof {

struct Section {
  std::string name;
  std::vector<RowPosition> rows;
  std::size_t over_limit = 0;       // rows beyond the limit
  std::size_t keys_over_limit = 0;  // keys of a map in the last row that are beyond the limit
  // Rows omitted because nothing changed; under show, because the value is zero, or because it is a
  // state that did not change in the window.
  std::size_t unchanged_rows = 0;
  std::size_t rows_without_value = 0;  // rows omitted because no side has a value
};

// Groups that exist on only one side, ordered by their largest share of any metric.
struct OneSidedGroups {
  std::vector<std::uint32_t> groups;
  std::size_t over_limit = 0;
};

// A metric that no row shows, because at least one side has no value of the metric.
struct AbsentMetric {
  std::size_t metric = 0;
  std::vector<bool> is_absent_on;  // by side, whether it is absent there
  // Whether each side measured it, but --where excludes the rows with values.
  bool is_only_excluded = false;
};

class Report {
 public:
  // `spec` assigns the runs to sides. REQUIRES: at least one run; all are snapshots, or all are
  // windows that already contain differences.
  static Result<Report> make(std::span<const Snapshot* const> runs, const Spec& spec,
                             const PluginDefinitions& plugin_definitions);
  // Creates a report of runs that are loaded one after the other and not kept. The report is
  // planned from the columns of `outlines`. The error can come from loading a run. REQUIRES:
  // windows, which have the same columns when they are loaded; the spec names no map key
  // (may_name_map_keys).
  static Result<Report> make(std::span<const Snapshot* const> outlines, const LoadRun& load,
                             const Spec& spec, const PluginDefinitions& plugin_definitions);

  const Spec& spec() const { return data_->spec; }
  // Returns for each side the facts of its first run, with the text size of all its runs.
  std::span<const RunFacts> sides() const { return data_->sides; }
  std::span<const RunFacts> runs(std::size_t side) const {
    const SideRuns& side_runs = data_->side_runs[side];
    return std::span(data_->runs).subspan(side_runs.first, side_runs.count);
  }
  // Returns whether there is more than one side.
  bool is_comparison() const { return sides().size() > 1; }
  const Grouping& grouping() const { return data_->grouping; }
  const std::vector<PlannedMetric>& metrics() const { return data_->plan.metrics; }
  const Rollup& rollup() const { return data_->rollup; }
  const Changes& changes() const { return data_->changes; }
  // Returns the thread-by-thread comparison of the side with the first. REQUIRES: not the first
  // side.
  const ThreadTurnover& thread_turnover(std::size_t side) const {
    return data_->thread_turnovers[side - 1];
  }
  const Rates& rates(std::size_t side) const { return data_->rates[side - 1]; }
  // Returns the significance of differences between sides with several runs.
  Families& families() const { return data_->families; }
  // Returns whether the groups of Spec::about may have been selected after an earlier comparison.
  bool may_about_follow_comparison() const { return spec().about && data_->was_compared; }
  // For lifetimes from different boots: returns a counter divided by the age of the group in
  // seconds; NaN if unavailable.
  double per_second_of_age(CellPosition at) const;
  bool shows_per_age() const { return !data_->group_ages.empty(); }
  const std::vector<std::string>& notes() const { return data_->plan.notes; }

  // Only for windows; null if only some metrics are requested, and if the files define no
  // headlines.
  const Screen* screen() const { return data_->screen ? &*data_->screen : nullptr; }
  // Returns the signs of each group on a side. REQUIRES: screen().
  std::span<const GroupSigns> signs(std::size_t side) const { return data_->signs[side]; }
  // Returns the busiest processes that --where excludes from a side with a single run. REQUIRES:
  // screen().
  std::span<const ExcludedProcesses> busiest_excluded(std::size_t side) const {
    return data_->busiest_excluded[side];
  }
  // Null if no shown metric has stacks.
  StackSection* stacks() const { return data_->stacks.get(); }
  const std::vector<Section>& sections() const { return sections_; }
  const OneSidedGroups& one_sided_groups(std::size_t side) const { return one_sided_groups_[side]; }
  const std::vector<AbsentMetric>& absent_metrics() const { return absent_metrics_; }
  // Returns the rows that --fail-on matches, over all sections, shown or not.
  const Section& fail_on_section() const { return fail_on_section_; }
  // Returns whether --fail-on matches the row, including rows beyond the limit.
  bool matches_fail_on(RowPosition row) const;

  // Returns the metrics that have a value for the group on this side, by descending share of the
  // metric's total.
  std::vector<std::uint32_t> metrics_by_share(std::size_t side, std::uint32_t group) const;

 private:
  // The data that rows refer to, at a fixed address.
  struct Data {
    Data(const Spec& requested_spec, std::unique_ptr<MetricPlan> metrics, ReducedRuns& reduced,
         Grouping groups);
    void compute_group_ages();
    void compare_sides(std::span<const ReducedRun> reduced);
    void finish(std::span<const ReducedRun> reduced, std::vector<SortKey> sort,
                std::span<const Condition> group_conditions);
    void build_screen(std::span<const ReducedRun> reduced);
    void select_about_groups(std::span<const ScreenColumn> columns);
    std::vector<RunFacts> runs;
    std::vector<SideRuns> side_runs;
    std::vector<RunFacts> sides;
    Spec spec;
    // At a fixed address, because the figures of runs refer to it.
    std::unique_ptr<MetricPlan> owned_plan;
    MetricPlan& plan;
    Grouping grouping;
    CommonStacks common;
    Rollup rollup;
    Changes changes;
    Families families;
    std::optional<Order> order;
    std::vector<RowPosition> fail_on_rows;  // sorted by group and metric
    std::optional<Screen> screen;
    std::vector<std::vector<GroupSigns>> signs;                    // by side, if there is a screen
    std::vector<std::vector<ExcludedProcesses>> busiest_excluded;  // the same
    std::unique_ptr<StackSection> stacks;
    std::vector<ThreadTurnover> thread_turnovers;  // for each side except the first
    std::vector<Rates> rates;
    std::vector<GroupAges> group_ages;  // for each side
    bool was_compared = false;
  };

  explicit Report(std::unique_ptr<Data> data);
  bool is_expected_absence(const PlannedMetric& metric) const;
  bool is_measured(std::size_t side, std::size_t metric) const;
  void find_absent_metrics();
  void find_one_sided_groups();
  void fill_fail_on_section();
  void limit_lines(Section& section) const;
  void fill_section(Section& section, std::span<const std::uint32_t> metrics_of_section) const;
  // Returns a sort key: rows that are significant on any side first, then tested rows, then rows
  // that were never tested. If no row is significant, tested rows are ordered by their smallest
  // unadjusted p.
  std::pair<int, double> evidence_rank(RowPosition row) const;
  bool is_unchanged_in_window(RowPosition row) const;
  void add_value(Section& section, RowPosition row, std::vector<RankedRow>& ranked_rows) const;
  void add_row(Section& section, RowPosition row, std::vector<RankedRow>& ranked_rows) const;
  void add_change(Section& section, RowPosition row, std::vector<RankedRow>& ranked_rows) const;
  // The number of sides that have the group.
  std::size_t count_sides_with(std::uint32_t group) const;

  std::unique_ptr<Data> data_;
  std::vector<Section> sections_;
  std::vector<OneSidedGroups> one_sided_groups_;
  std::vector<AbsentMetric> absent_metrics_;
  std::vector<bool> is_absent_;  // by metric
  Section fail_on_section_;
};

// Returns whether a side of the report has more than one run.
bool has_several_runs(const Report& report);

}  // namespace ctprof
