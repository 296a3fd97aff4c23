// The stream of report rows: the whole report as flat rows, one after the other, for output as
// text, JSON or CSV.
//
// A printer requests the kinds of rows in any order; the rows of one kind are always in the order
// of the report. A row is plain data that is valid during the call of the visitor; the objects it
// points to are valid as long as the report.
//
// See also: `Rollup` formats values as text and JSON, render/ defines the layout.

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

enum class RowKind : std::uint8_t {
  Section,         // starts a section: its name and the numbers of omitted rows; its rows follow
  Metric,          // one metric of a group
  FailedMetric,    // like Metric, for a row that --fail-on matches; a Section precedes it
  OneSidedHeader,  // starts the groups that exist on only one side
  Group,           // such a group; its Figure rows follow
  Figure,          // one metric of such a group
  Stacks,          // starts the stacks of a group in one metric; its functions and stacks follow
  Function,        // one of its functions
  Stack,           // one of its stacks
  RenamedCgroup,   // a renamed cgroup
  HostsHeader,     // starts the differences between the hosts of the baseline and a side, if known
  HostFact,        // one such difference
  AbsentMetric,    // a metric without values
  Note,
};

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
  std::optional<DifferenceOrigin> difference_origin;  // for sums over threads of one boot
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

struct ReportRow {
  RowKind kind = RowKind::Note;
  // For sections.
  const Section* section = nullptr;
  bool is_failed = false;  // the section of rows that --fail-on matches
  // For rows with values.
  RowPosition at{};
  const PlannedMetric* metric = nullptr;
  std::string_view group;           // under `all` with several parts (key_parts)
  std::vector<SideFigure> sides{};  // for a Group, only its side
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
  // For groups that exist on only one side, and for hosts.
  std::size_t side = 0;
  const OneSidedGroups* one_sided_groups = nullptr;
  // For stacks, in addition to the group's values: the stacks of the group, and one of their rows.
  const StackGroup* stacks = nullptr;
  const FunctionRow* function = nullptr;
  const StackRow* stack = nullptr;
  // For the other kinds.
  const CgroupRename* rename = nullptr;
  const HostDifference* difference = nullptr;
  bool are_hosts_known = false;
  const AbsentMetric* absent_metric = nullptr;
  std::string_view text;  // the text of a note
};

// Returns the keys of a map, as in ReportRow::keys. With --moved-only, omits keys that did not
// change. Under show this omits keys that are zero and, unless metrics were requested, gauges that
// did not change in a window.
std::vector<KeyFigure> find_key_figures(const Report& report, RowPosition at);
// Returns the largest absolute difference of the key, for sorting. REQUIRES: `key` has a value for
// each side.
double largest_difference(std::span<const KeyFigure> key);

using RowVisitor = std::function<void(const ReportRow&)>;

// Visits the rows of one kind in order, each followed by its dependent rows: a Section by its
// metrics, a OneSidedHeader by its groups, a Group by its figures, a Stacks by its functions and
// then its stacks, a HostsHeader by its HostFacts.
void visit_rows(const Report& report, RowKind kind, const RowVisitor& visit);

}  // namespace ctprof
