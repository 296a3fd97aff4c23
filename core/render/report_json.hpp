// A report as JSON for programs: one object, written in pieces, so that a long one is never in
// memory as a whole.
//
// compare: schema, baseline, candidate, group_by, rows [{section, group, metric, unit, per_second,
// baseline, candidate, delta, pct, delta_alive, delta_new, delta_gone, rate, per_life_baseline,
// per_life_candidate, runs_baseline, runs_candidate, threads_baseline, threads_candidate,
// coverage_baseline, coverage_candidate, parts_baseline, parts_candidate, threads_alive,
// threads_new, threads_gone, busiest_baseline, extras_baseline, busiest_candidate,
// extras_candidate}], only_baseline and only_candidate [{group, threads, values}], renamed_cgroups
// [{baseline, candidate, baseline_root, candidate_root, kinds_in_common, kinds_in_all,
// only_baseline, only_candidate, below}], host_diff (between the sides, and within one where it has
// several runs; null where a file has no context), cut {section: rows beyond the limit}, cut_keys
// {section: keys of its last map beyond it}, notes; with
// --fail-on also failed, the rows that it names. Each side is {file, hostname, boot_id,
// start_unix_ns, threads, processes, takeovers [{plugin, metrics}]}; one of several runs tells that
// of its first, and has `runs`, the same of each. show: schema, snapshot, group_by, rows [{section,
// group, metric, unit, per_second, value, runs, threads, coverage, parts, busiest, extras}], cut,
// cut_keys, notes; with --fail-on also failed. compare of what is one window, or one side, prints
// what show does.
//
// With `per_second` what counts up is per second of its window's length, as where several windows
// are told together; of a map, the keys that count up. Of a side of several runs a value is the
// median of those that have one, and `runs` says how many have. `per_life` is the total
// divided by the age of the group's oldest thread, of snapshots of different boots.
//
// What is shown of a window are differences; its `snapshot` has a member more, window {length_ns,
// threads_before, threads_after, born, ended, lost, unseen, merged, sees_ends, partial (only some
// processes were wanted), no_base {unmet, in_progress, metrics}, accounting (window/accounting.hpp;
// null where a figure is missing) {cpus, wall_ns, busy_ns, living_ns, ended_ns, unexplained_ns,
// error_ns, steal_ns, interrupts_ns, steal_apart, interrupts_apart}, settings [{metric, entity,
// name, before, after, rows}], settings_cut, notes}, and its rows have `change`: of a gauge, how
// much more it is than when the window opened, and by key of the gauges in a map; null elsewhere.
//
// A report of windows, unless only some metrics are wanted, has a member `screen`: what the first
// screen shows (compare/report/screen.hpp), with all digits and all rows up to the limit. One of
// metrics with stacks has a member `stacks`: the functions and stacks of groups
// (compare/report/stack_section.hpp), as many as the limit allows of each.
//
// `pct` is the difference as a fraction of the baseline; null stands for what is missing; ranges,
// modes, maps and affinities are small objects, and a map's `delta` is one by key, as is its `rate`
// where a key counts up. The limit counts a line for each key of a map. Of sums over threads of one
// boot `delta_alive`, `delta_new` and `delta_gone` add up to `delta`
// (compare/figures/one_boot.hpp); `rate` is there where rates are asked for
// (compare/figures/change.hpp). `parts` is {present, of, missing} where a metric is derived from
// optional inputs: of how many of those that this kernel can have, and the names of the rest; where
// the sides have different ones there is no `pct`. `busiest` is {tid, comm} of the thread with the
// largest reading, `extras` what the rule says beside the value, such as {min_nonzero}.

#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/json_writer.hpp"
#include "core/compare/report/rows.hpp"

namespace ctprof {

inline constexpr int kReportSchema = 1;

// The sentence about rows that were left out because of the report's size.
std::string left_out_in_words(std::size_t rows);

// `files` names the sides as the user did. What would be out of proportion to the files' text
// (compare/figures/allowance.hpp) is left out, and a note says how many rows that is.
Result<void> write_report_json(const Report& report, std::span<const std::string> files,
                               Sink& sink);

}  // namespace ctprof
