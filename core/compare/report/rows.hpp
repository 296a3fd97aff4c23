// The stream of report rows: all that a report tells, one flat row after the other, for whoever
// prints it as text, JSON or CSV.
//
// A printer asks for the kinds of rows in its own order; the rows of a kind always come in the
// report's. A row is plain data and lives for the call that hands it over; what it points to lives
// as long as the report.
//
// What is here:   which rows there are, and what each says.
// What is not:    how a figure is written: `Rollup` tells it as text and JSON; layout (render/).

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/compare/figures/host_diff.hpp"
#include "core/compare/report/report.hpp"

namespace ctprof {

enum class RowKind : std::uint8_t {
  Section,   // opens a section: its name and what is left out of it; its rows follow
  Metric,    // a group's metric
  Failed,    // one that --fail-on names; the section of them comes first
  OnlyIn,    // opens the groups that one side alone has, where there may be some
  Group,     // such a group; its figures follow
  Figure,    // one of these
  Renamed,   // a cgroup that is another one
  Hosts,     // opens what differs between the hosts of the baseline and a side, where it is known
  HostFact,  // one such difference
  Absent,    // a metric without values
  Note,
};

// What one side says in a row.
struct SideFigure {
  CellAt at{};
  std::uint64_t threads = 0;  // of the group; of the host all
  Coverage coverage;
  MadeOf made_of;  // of a derived metric with optional inputs
  const Busiest* busiest = nullptr;
};

// What lies between the first side and another.
struct SideChange {
  Change change;
  std::optional<Origin> origin;      // of sums over threads of one boot
  std::optional<Turnover> turnover;  // of the group's threads; of the host's row, of all
  double rate = 0;                   // NaN for none
};

// What a side has of one key of a map, and what lies between the first side and it.
struct KeyFigure {
  std::string_view key, unit;  // the metric's unit where the key has none of its own
  ctprof_number number{};      // none where the side lacks the key
  Difference difference{};     // none of the first side
  double pct = 0, rate = 0;    // NaN for none
};

struct ReportRow {
  RowKind kind = RowKind::Note;
  // Of a section.
  const Section* section = nullptr;
  bool is_failed = false;  // the section of failed rows
  // Of rows with figures.
  RowAt at{};
  const PlannedMetric* metric = nullptr;
  std::string_view group;           // of several parts under `all`
  std::vector<SideFigure> sides{};  // of a Group the one side's alone
  std::vector<SideChange> changes{};
  std::vector<KeyFigure> keys{};  // of a map, in the order of their bytes, each side by side
  bool keys_are_cut = false;      // some lie beyond the limit
  bool fails = false;

  // How many keys are told, and one of them on each side.
  std::size_t key_count() const { return keys.size() / std::max<std::size_t>(1, sides.size()); }
  std::span<const KeyFigure> key(std::size_t at) const {
    return std::span(keys).subspan(at * sides.size(), sides.size());
  }
  // Of groups that one side alone has, and of hosts.
  std::size_t side = 0;
  const OneSided* only = nullptr;
  // Of the rest.
  const CgroupRename* rename = nullptr;
  const HostDifference* difference = nullptr;
  bool is_known = false;
  const Absent* absent = nullptr;
  std::string_view text;  // of a note
};

// The keys of a row's map, as ReportRow::keys has them. Where only rows that moved are asked for,
// keys that did not move, or under show are zero, are left out.
std::vector<KeyFigure> key_figures(const Report& report, RowAt at);
// By how much the key moved, for an order; REQUIRES: of each side.
double movement(std::span<const KeyFigure> key);

using RowVisitor = std::function<void(const ReportRow&)>;

// Hands over the rows of a kind in order, with those that follow each: a Section's metrics, an
// OnlyIn's groups, a Group's figures, the HostFacts of Hosts.
void tell(const Report& report, RowKind kind, const RowVisitor& visit);

}  // namespace ctprof
