// A report: all that show and compare found, as data, in the order in which it is told.
//
// One side gives a report of values (show), several give one of differences from the first
// (compare); a side is a run, or several (rollup.hpp). A row of a section is a group and a metric;
// its figures come from `rollup` and `changes`, or from the stream of rows (rows.hpp). Groups that
// only one side has are listed separately, with the metrics in which they are largest. A report
// does not need the snapshots any more.
//
// Not here: text, JSON and CSV (render/).

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/compare/asked/spec.hpp"
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

namespace ctprof {

struct Section {
  std::string name;
  std::vector<RowAt> rows;
  std::size_t cut = 0;       // rows beyond the limit
  std::size_t cut_keys = 0;  // and keys beyond it, if the last row is a map
  std::size_t still = 0;  // rows left out because nothing changed, or under show the value is zero,
                          // or is no difference and is what it was when the window opened
  std::size_t missing = 0;  // rows left out because no side has a value
};

// Groups that only one side has, those with the largest share of any metric first.
struct OneSided {
  std::vector<std::uint32_t> groups;
  std::size_t cut = 0;
};

// A metric that no row shows, because one or more sides have no value of it at all.
struct Absent {
  std::size_t metric = 0;
  std::vector<bool> on;  // by side, whether it is absent there
};

class Report {
 public:
  // `spec` says which runs are a side. REQUIRES: one run at least, either windows, made of
  // differences already, or snapshots.
  static Result<Report> make(std::span<const Snapshot* const> runs, const Spec& spec,
                             const Knowledge& knowledge);
  // The same of runs whose rows are taken one after the other, and not kept. `outlines` have their
  // columns, by which the report is planned. The error may be that of taking a run. REQUIRES:
  // windows, which have these columns when they are taken; the spec names no key of a map
  // (names_keys).
  static Result<Report> make(std::span<const Snapshot* const> outlines, const TakeRun& take,
                             const Spec& spec, const Knowledge& knowledge);

  const Spec& spec() const { return whole_->spec; }
  // Of each side what is known of its first run, but for the size of the files of all.
  std::span<const RunFacts> sides() const { return whole_->sides; }
  std::span<const RunFacts> runs(std::size_t side) const {
    const SideRuns& its = whole_->side_runs[side];
    return std::span(whole_->runs).subspan(its.first, its.count);
  }
  // Whether there is more than one side.
  bool compares() const { return sides().size() > 1; }
  const Grouping& grouping() const { return whole_->grouping; }
  const std::vector<PlannedMetric>& metrics() const { return whole_->plan.metrics; }
  const Rollup& rollup() const { return whole_->rollup; }
  const Changes& changes() const { return whole_->changes; }
  // The side compared with the first, thread by thread. REQUIRES: not the first side.
  const OneBoot& one_boot(std::size_t side) const { return whole_->one_boot[side - 1]; }
  const Rates& rates(std::size_t side) const { return whole_->rates[side - 1]; }
  // How sure the differences of sides of several runs are.
  Families& families() const { return whole_->families; }
  // Whether the groups of Spec::about may have been selected because of an earlier comparison.
  bool is_about_chosen_afterwards() const { return spec().about && whole_->was_compared; }
  // Of lifetimes of different boots: what counts up, per second of life; NaN for none.
  double per_life(CellAt at) const;
  bool tells_lives() const { return !whole_->lives.empty(); }
  const std::vector<std::string>& notes() const { return whole_->plan.notes; }

  // Of windows, unless only some metrics are wanted; null otherwise, and where the files know of no
  // headlines.
  const Screen* screen() const { return whole_->screen ? &*whole_->screen : nullptr; }
  // Of each group on a side. REQUIRES: screen().
  std::span<const GroupSigns> signs(std::size_t side) const { return whole_->signs[side]; }
  // Null where no metric that is shown has stacks.
  StackSection* stacks() const { return whole_->stacks.get(); }
  const std::vector<Section>& sections() const { return sections_; }
  const OneSided& only(std::size_t side) const { return only_[side]; }
  const std::vector<Absent>& absent() const { return absent_; }
  // The rows that --fail-on picks out, of all sections together, shown or not.
  const Section& failed() const { return failed_; }
  // Whether --fail-on picks the row out, even beyond the limit.
  bool fails(RowAt row) const;

  // The metrics of one group on one side that have a value, by their share of the metric's total,
  // the largest first.
  std::vector<std::uint32_t> weightiest(std::size_t side, std::uint32_t group) const;

 private:
  // What rows refer to, at a fixed address.
  struct Whole {
    Whole(const Spec& wanted, std::unique_ptr<MetricPlan> metrics, ReducedRuns& reduced,
          Grouping groups);
    void find_lives();
    void find_differences(std::span<const ReducedRun> reduced);
    void settle(std::span<const ReducedRun> reduced, std::vector<SortKey> sort,
                std::span<const Condition> of_groups);
    void find_screen(std::span<const ReducedRun> reduced);
    void find_about(std::span<const ScreenColumn> columns);
    std::vector<RunFacts> runs;
    std::vector<SideRuns> side_runs;
    std::vector<RunFacts> sides;
    Spec spec;
    std::unique_ptr<MetricPlan> plan_at;  // figures of runs were made by it before this was
    MetricPlan& plan;
    Grouping grouping;
    StackBook book;
    Rollup rollup;
    Changes changes;
    Families families;
    std::optional<Order> order;
    std::vector<RowAt> failing;  // by group and metric
    std::optional<Screen> screen;
    std::vector<std::vector<GroupSigns>> signs;  // by side, where there is a screen
    std::unique_ptr<StackSection> stacks;
    std::vector<OneBoot> one_boot;  // of each side but the first
    std::vector<Rates> rates;
    std::vector<Lives> lives;  // of each side
    bool was_compared = false;
  };

  explicit Report(std::unique_ptr<Whole> whole);
  bool is_expected_absence(const PlannedMetric& metric) const;
  void find_absent();
  void find_one_sided();
  void find_failed();
  void cut_lines(Section& section) const;
  void fill_section(Section& section, std::span<const std::uint32_t> those) const;
  // Orders rows: proven on any side, not significant, never tested; where nothing is proven, by the
  // smallest p that they have by themselves.
  std::pair<int, double> place_by_evidence(RowAt row) const;
  bool stood_still(RowAt row) const;
  void take_value(Section& section, RowAt row, std::vector<RankedRow>& taken) const;
  void take_row(Section& section, RowAt row, std::vector<RankedRow>& taken) const;
  void take_change(Section& section, RowAt row, std::vector<RankedRow>& taken) const;
  std::size_t sides_with(std::uint32_t group) const;  // how many

  std::unique_ptr<Whole> whole_;
  std::vector<Section> sections_;
  std::vector<OneSided> only_;
  std::vector<Absent> absent_;
  std::vector<bool> is_absent_;  // by metric
  Section failed_;
};

// Whether a side of the report has more than one run.
bool tells_several_runs(const Report& report);

}  // namespace ctprof
