// Writes a report as JSON: one object, written in pieces, so that a long report is never completely
// in memory.
//
// compare: schema, baseline, candidate, group_by, rows [{section, group, metric, unit, per_second,
// baseline, candidate, delta, pct, delta_alive, delta_new, delta_gone, rate, per_life_baseline,
// per_life_candidate, runs_baseline, runs_candidate, threads_baseline, threads_candidate,
// coverage_baseline, coverage_candidate, parts_baseline, parts_candidate, threads_alive,
// threads_new, threads_gone, busiest_baseline, extras_baseline, busiest_candidate,
// extras_candidate}], only_baseline and only_candidate [{group, threads, values}], renamed_cgroups
// [{baseline, candidate, baseline_root, candidate_root, kinds_in_common, kinds_in_all,
// only_baseline, only_candidate, below}], host_diff (between the sides, and within a side with
// several runs; null if a file has no context), cut {section: rows beyond the limit}, cut_keys
// {section: keys of its last map beyond it}, notes; with --fail-on also failed, the rows that it
// selects. Each side is {file, hostname, boot_id, start_unix_ns, threads, processes, takeovers
// [{plugin, metrics}]}; a side with several runs has these members of its first run, and `runs`
// with the members of each run. show: schema, snapshot, group_by, rows [{section, group, metric,
// unit, per_second, value, runs, threads, coverage, parts, busiest, extras}], cut, cut_keys, notes;
// with --fail-on also failed. compare with a single window or a single side writes the object of
// show.
//
// With `per_second`, counters are per second of the window's length, as when several windows are
// reported together; in a map, the keys that are counters. For a side with several runs, a value is
// the median of the runs that have one, and `runs` is their number. `per_life` is the total divided
// by the age of the group's oldest thread, for snapshots of different boots.
//
// The values of a window are differences. Its `snapshot` has an additional member, window
// {length_ns, threads_before, threads_after, born, ended, lost, unseen, merged, sees_ends, partial
// (only some processes were selected), no_base {unmet, in_progress, metrics}, accounting
// (window/accounting.hpp; null if a figure is missing) {cpus, wall_ns, busy_ns, living_ns,
// ended_ns, unexplained_ns, error_ns, steal_ns, interrupts_ns, steal_apart, interrupts_apart},
// settings [{metric, entity, name, before, after, rows}], settings_cut, notes}. Its rows have
// `change`: the increase of a gauge since the opening of the window, by key for the gauges in a
// map; null for other metrics.
//
// A report of windows, unless only some metrics are selected, has a member `screen`: the contents
// of the first screen (compare/report/screen.hpp), with all digits and all rows up to the limit. A
// report of metrics with stacks has a member `stacks`: the functions and stacks of groups
// (compare/report/stack_section.hpp), each up to the limit.
//
// `pct` is the difference as a fraction of the baseline; null represents a missing value. Ranges,
// modes, maps and affinities are small objects. The `delta` of a map is an object by key, as is its
// `rate` for keys that are counters. The limit counts a line for each key of a map. For sums over
// threads of the same boot, `delta_alive`, `delta_new` and `delta_gone` add up to `delta`
// (compare/figures/one_boot.hpp). `rate` exists if rates are requested
// (compare/figures/change.hpp). `parts` is {present, of, missing} for a metric that is derived from
// optional inputs: the number of inputs used, the number that this kernel can have, and the names
// of the others; if the sides have different ones, there is no `pct`. `busiest` is {tid, comm} of
// the thread with the largest reading, `extras` are additional results of the rule, such as
// {min_nonzero}.

#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/json_writer.hpp"
#include "core/compare/report/rows.hpp"

namespace ctprof {

inline constexpr int kReportSchema = 1;

// Returns the note about rows that were omitted because of the report's size.
std::string describe_omitted_rows(std::size_t rows);

// `files` are the names of the sides as typed by the user. Rows out of proportion to the size of
// the files (compare/figures/allowance.hpp) are omitted, and a note states their number.
Result<void> write_report_json(const Report& report, std::span<const std::string> files,
                               Sink& sink);

}  // namespace ctprof
