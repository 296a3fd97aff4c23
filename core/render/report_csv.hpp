// A report as CSV for spreadsheets and shells: a header, then one line for each group and metric;
// of a map, one for each key. A limit counts lines.
//
// Under compare the columns are side, section, group, metric, key, unit, baseline, candidate,
// delta, pct, text_baseline, text_candidate, text_delta, threads_baseline, threads_candidate,
// values_baseline, rows_baseline, values_candidate, rows_candidate, parts_baseline,
// parts_of_baseline, parts_candidate, parts_of_candidate, delta_alive, delta_new, delta_gone,
// threads_alive, threads_new, threads_gone, under --rate also rate, under --fail-on also failed;
// `side` is `both`, or the one side that has the group. Under show: section, group, metric, key,
// unit, value, text, threads, values, rows, parts, parts_of. `values` of `rows` readings were
// there; a figure that is derived from optional inputs has `parts` of the `parts_of` that this
// kernel can have, and others have neither. Under
// `--group-by all` three columns stand for the group: cgroup, pcomm, comm.
//
// Of metrics with stacks the functions and stacks of groups follow (compare/report/
// stack_section.hpp), with keys of the form `self NAME (MODULE)`, `total NAME (MODULE)` and `stack
// LEAF ← CALLER ← ...`.
//
// What follows the coverage is of the whole row, as in JSON, and a map's lines have it alike; but a
// rate is of the key. `failed` is true where --fail-on picks the row out; such rows that are not
// shown otherwise come last.
//
// `value`, `baseline`, `candidate` and `delta` hold numbers alone, whole and in their unit as in
// JSON. Ranges, modes, affinities and words ("max", "differs") are in the columns of text, as
// people read them. What is missing is empty. Fields are quoted as in RFC 4180, lines end in a line
// feed. Names are escaped as for a terminal (terminal_text.hpp), so a field never holds a line
// break or anything that is not UTF-8.

#pragma once

#include "core/compare/report/rows.hpp"
#include "core/render/report_json.hpp"

namespace ctprof {

// In pieces, as write_report_json. Returns how many rows were left out because of the size.
// `is_safe`: a text that a spreadsheet would take for a formula has a ' before it; numbers are as
// they are.
Result<std::size_t> write_report_csv(const Report& report, Sink& sink, bool is_safe = false);

}  // namespace ctprof
