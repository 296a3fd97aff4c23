// The stream of report rows: all that a report tells, one flat row after the other, for printing as
// text, JSON or CSV.
//
// A printer asks for the kinds of rows in any order; the rows of a kind are always in the report's
// order. A row is plain data and is valid for the call that hands it over; what it points to is
// valid as long as the report.
//
// Not here: how a value is written (`Rollup` has it as text and JSON), layout (render/).

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
  Section,   // begins a section: its name and what it leaves out; its rows follow
  Metric,    // a group's metric
  Failed,    // the same, picked out by --fail-on; a Section comes first
  OnlyIn,    // begins the groups that only one side has
  Group,     // such a group; its figures follow
  Figure,    // one of these
  Stacks,    // begins a group's stacks in one metric; their functions and stacks follow
  Function,  // one of its functions
  Stack,     // one of its stacks
  Renamed,   // a cgroup that was renamed
  Hosts,     // begins the differences between the hosts of the baseline and a side, if known
  HostFact,  // one such difference
  Absent,    // a metric without values
  Note,
};

// One side's part of a row.
struct SideFigure {
  CellAt at{};
  double threads = 0;  // of the group, or all for a metric of the host; of several runs the median
  Coverage coverage;
  MadeOf made_of;  // of a derived metric with optional inputs
  const Busiest* busiest = nullptr;
  Difference change;  // of a gauge, since the window opened
  Beginning beginning = Beginning::None;
  std::size_t runs = 0;  // of the side's, those with a value
  double per_life = 0;   // Report::per_life
};

// The change from the first side to another.
struct SideChange {
  Change change;
  std::optional<Origin> origin;      // for sums over threads of one boot
  std::optional<Turnover> turnover;  // of the group's threads; for a metric of the host, of all
  double rate = 0;                   // NaN for none
  std::optional<Proof> proof;        // in the family of --details
};

// One side's figure for one key of a map, and its change from the first side.
struct KeyFigure {
  std::string_view key, unit;  // the metric's unit where the key has none of its own
  ctprof_number number{};      // none if the side lacks the key
  Difference change{};         // of a gauge, since the window opened
  Difference difference{};     // none for the first side
  double pct = 0, rate = 0;    // NaN for none
  bool per_second = false;     // what is told of it
};

struct ReportRow {
  RowKind kind = RowKind::Note;
  // Of a section.
  const Section* section = nullptr;
  bool is_failed = false;  // the section of failed rows
  // Of rows with figures.
  RowAt at{};
  const PlannedMetric* metric = nullptr;
  std::string_view group;           // under `all` of several parts (key_parts)
  std::vector<SideFigure> sides{};  // for a Group, only that of its side
  std::vector<SideChange> changes{};
  // Of a map: for each key, in the order of their bytes, one figure for every side.
  std::vector<KeyFigure> keys{};
  bool per_second = false;    // its figures are; of a map each key says so
  bool keys_are_cut = false;  // some keys are beyond the limit
  bool fails = false;

  // The number of keys, and the figures of one key for every side.
  std::size_t key_count() const { return keys.size() / std::max<std::size_t>(1, sides.size()); }
  std::span<const KeyFigure> key(std::size_t at) const {
    return std::span(keys).subspan(at * sides.size(), sides.size());
  }
  // Of groups that one side alone has, and of hosts.
  std::size_t side = 0;
  const OneSided* only = nullptr;
  // Of stacks, beside the figures of the group: the group's stacks, and one of their rows.
  const StackGroup* stacks = nullptr;
  const FunctionRow* function = nullptr;
  const StackRow* stack = nullptr;
  // Of the rest.
  const CgroupRename* rename = nullptr;
  const HostDifference* difference = nullptr;
  bool is_known = false;
  const Absent* absent = nullptr;
  std::string_view text;  // of a note
};

// The keys of a map, as in ReportRow::keys. If only rows that moved are wanted, keys that did not
// move are left out; under show those that are zero, and gauges that stood still in a window unless
// metrics were asked for.
std::vector<KeyFigure> key_figures(const Report& report, RowAt at);
// How far the key moved, for sorting. REQUIRES: its figures for every side.
double movement(std::span<const KeyFigure> key);

using RowVisitor = std::function<void(const ReportRow&)>;

// Visits the rows of a kind in order, each with those that belong to it: a Section's metrics, an
// OnlyIn's groups, a Group's figures, the functions and then the stacks of Stacks, the HostFacts of
// Hosts.
void tell(const Report& report, RowKind kind, const RowVisitor& visit);

}  // namespace ctprof
