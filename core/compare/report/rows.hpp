// The rows of a report: the values of each metric of each group as flat rows, one after the other,
// for output as text, JSON or CSV.
//
// A printer visits the sections, the groups of one side and the stacks in any order; the rows of
// each are always in the order of the report. A row is plain data that is valid during the call of
// the visitor; the objects it points to are valid as long as the report.
//
// See also: `Rollup` formats values as text and JSON, `Report` has absent metrics and notes,
// `host_differences` compares hosts, render/ defines the layout.

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/compare/figures/run_facts.hpp"
#include "core/compare/report/report.hpp"

namespace ctprof {

// The value of one side in a row.
struct SideFigure {
  CellPosition at{};
  // Of the group, or of the host for a host metric; for several runs the median.
  double threads = 0;
  Coverage coverage;
  DerivedParts derived_parts;  // of a derived metric with optional inputs
  const BusiestThread* busiest = nullptr;
  Difference change;  // of a gauge, since the opening of the window
  OpeningState opening_state = OpeningState::None;
  std::size_t runs = 0;          // number of the side's runs with a value
  double per_second_of_age = 0;  // Report::per_second_of_age
};

// The change from the first side to another.
struct SideChange {
  Change change;
  std::optional<DifferenceOrigin> difference_origin;  // for sums over threads of the same boot
  std::optional<Turnover> turnover;  // of the group's threads; for a host metric, of all threads
  double rate = 0;                   // NaN if unavailable
  std::optional<RowTestResult> test_result;  // in the family of --details
};

// The value of one map key on one side, and its change from the first side.
struct KeyFigure {
  std::string_view key, unit;  // the metric's unit if the key has no unit
  ctprof_number number{};      // no number if the side lacks the key
  Difference change{};         // of a gauge, since the opening of the window
  Difference difference{};     // no value for the first side
  double pct = 0, rate = 0;    // NaN if unavailable
  bool is_per_second = false;  // the values are per second
};

// One metric of a group.
struct MetricRow {
  RowPosition at{};
  const PlannedMetric* metric = nullptr;
  std::string_view group;  // under `all` with several parts (key_parts)
  std::vector<SideFigure> sides{};
  std::vector<SideChange> changes{};
  // For a map: for each key, ordered by bytes, one value for each side.
  std::vector<KeyFigure> keys{};
  bool is_per_second = false;     // the values are per second; for a map, see each key
  bool keys_are_limited = false;  // some keys are beyond the limit
  bool matches_fail_on = false;

  // Returns the number of keys, and the values of one key on all sides.
  std::size_t key_count() const { return keys.size() / std::max<std::size_t>(1, sides.size()); }
  std::span<const KeyFigure> key(std::size_t at) const {
    return std::span(keys).subspan(at * sides.size(), sides.size());
  }
};

// A group that exists on only one side.
struct OneSidedGroup {
  std::size_t side = 0;
  std::string_view name;
  double threads = 0;
};

// Returns the keys of a map, as in MetricRow::keys. With --moved-only, omits keys that did not
// change. Under show this omits keys that are zero and, unless metrics were requested, gauges that
// did not change in a window.
std::vector<KeyFigure> find_key_figures(const Report& report, RowPosition at);
// Returns the largest absolute difference of the key, for sorting. REQUIRES: `key` has a value for
// each side.
double largest_difference(std::span<const KeyFigure> key);

// Functions that receive rows. Each is optional.
struct SectionVisitor {
  std::function<void(const Section&)> begin_section{};  // before the rows of each section
  std::function<void(const MetricRow&)> add_row{};
};
struct OneSidedVisitor {
  std::function<void(std::size_t side)> begin_side{};  // before the groups of each side
  std::function<void(const OneSidedGroup&)> begin_group{};
  std::function<void(std::size_t side, const MetricRow&)> add_figure{};  // of the last group
};
// The row has the values of the group in the metric of the stacks.
using StacksVisitor = std::function<void(const MetricRow&, const StackGroup&)>;

void visit_sections(const Report& report, const SectionVisitor& visitor);
// Visits the only section of the rows that --fail-on matches.
void visit_fail_on_section(const Report& report, const SectionVisitor& visitor);
// Visits nothing if the report has one side.
void visit_one_sided_groups(const Report& report, const OneSidedVisitor& visitor);
void visit_stacks(const Report& report, const StacksVisitor& visitor);

// Returns the renamed cgroups within the limit.
std::span<const CgroupRename> get_shown_renames(const Report& report);

}  // namespace ctprof
