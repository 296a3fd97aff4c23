// Writes a report as CSV for spreadsheets and shells: a header, then one line for each group and
// metric; for a map, one line for each key. A limit counts lines.
//
// Under compare the columns are side, section, group, metric, key, unit, baseline, candidate,
// delta, pct, text_baseline, text_candidate, text_delta, threads_baseline, threads_candidate,
// values_baseline, rows_baseline, values_candidate, rows_candidate, parts_baseline,
// parts_of_baseline, parts_candidate, parts_of_candidate, delta_alive, delta_new, delta_gone,
// threads_alive, threads_new, threads_gone, under --rate also rate, under --fail-on also failed;
// `side` is `both`, or the only side that has the group. Under show: section, group, metric, key,
// unit, value, text, threads, values, rows, parts, parts_of. `values` of `rows` readings exist. A
// figure that is derived from optional inputs has `parts` of the `parts_of` that this kernel can
// have; for other figures both are empty. Under `--group-by all`, three columns replace the group:
// cgroup, pcomm, comm.
//
// For metrics with stacks, the functions and stacks of groups follow (compare/report/
// stack_section.hpp), with keys of the form `self NAME (MODULE)`, `total NAME (MODULE)` and `stack
// LEAF ← CALLER ← ...`.
//
// The columns after the coverage belong to the whole row, as in JSON, and are equal for all lines
// of a map; only the rate belongs to the key. `failed` is true if --fail-on selects the row; such
// rows that are not shown otherwise come last.
//
// `value`, `baseline`, `candidate` and `delta` contain only numbers, unrounded and in their unit as
// in JSON. Ranges, modes, affinities and words ("max", "differs") are in the text columns,
// formatted for display. Missing values are empty. Fields are quoted as in RFC 4180, lines end in a
// line feed. Names are escaped as for a terminal (terminal_text.hpp), so a field never contains a
// line break or invalid UTF-8.

#pragma once

#include "core/compare/report/rows.hpp"
#include "core/render/report_json.hpp"

namespace ctprof {

// Writes in pieces, like write_report_json. Returns how many rows were omitted because of the size.
// `escapes_formulas`: a text that a spreadsheet would interpret as a formula gets a ' before it;
// numbers are unchanged.
Result<std::size_t> write_report_csv(const Report& report, Sink& sink,
                                     bool escapes_formulas = false);

}  // namespace ctprof
