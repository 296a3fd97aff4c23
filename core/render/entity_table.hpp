// Formats the rows of an entity of a plugin as one table: a row for each object, such as a disk,
// and a column for each metric.
//
// In a window, counters are shown per second ("reads/s"), and times as a percentage of the window
// ("%busy"); in a snapshot, both are totals of a lifetime. Two sides are shown as "1→2". The
// headers lack the entity's name and the unit: "%busy" is disk_busy_ns. The object with the largest
// share of any column, or of its change in a comparison, is first; derived metrics do not order
// objects. Objects and columns without a value other than zero are omitted and counted.
//
// See also: report_text.cc (one row for each metric of an object), screen_table.hpp (the table of
// threads).

#pragma once

#include <string>

#include "core/compare/report/report.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

// Returns the table, the metrics without a value, and what was omitted. REQUIRES: the report's axis
// is GroupBy::Entity.
std::string format_entity_table(const Report& report, const TextLayout& layout);

}  // namespace ctprof
