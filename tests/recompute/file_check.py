"""Checks conditions that every recorded file must meet: no thread has more time than its own window.

    check_times(tally, "run.ctprof.zst", span)
"""

from accounts import CLOCK_SLACK_NS
from capture_file import has_value

# The off-CPU time that the recorder counts, and its parts.
OFF_CPU = "offcpu_ns"
KIB = 1024
ROUNDED = ("rchar", "wchar")


def check_times(tally, name, span):
    """Checks that run, wait and off-cpu time of each thread fit into the time between its two readings."""
    threads = span.tables["thread"]
    times = list(span.in_progress)
    for row in range(threads.rows):
        where = (name, threads.reading("comm", row), threads.now["tid"][row])
        wall = span.wall(row)
        used = [span.value("thread", time, row) for time in times]
        if all(map(has_value, used)):
            tally.judge("run and wait within the window of the thread", where, sum(used) <= wall + CLOCK_SLACK_NS, sum(used), wall)
        if OFF_CPU in span.metrics and has_value(off := threads.reading(OFF_CPU, row)):
            tally.judge("off-cpu within the window of the thread", where, off <= wall + CLOCK_SLACK_NS, off, wall)


def check_group_times(tally, name, report, side):
    """Checks the same for the groups that `show` prints for one window, with the total time of their threads."""
    run = side.runs[0]
    found = {(tuple(row["group"]) if isinstance(row["group"], list) else row["group"], row["metric"]): row["value"] for row in report["rows"]}
    for group, rows in run.rows["thread"].items():
        used = sum(found.get((group, time)) or 0 for time in run.span.in_progress)
        wall = sum(run.span.wall(row) + CLOCK_SLACK_NS for row in rows)
        tally.judge("run and wait within the windows of a group", (name, group), used <= wall, used, wall)


def check_exits_without_bpf(tally, name, capture):
    """Taskstats rounds rchar and wchar of exited threads down to KiB, so opening values are rounded too. Checks that cgroups are known."""
    threads = capture.tables["thread"]
    for row in range(threads.rows):
        if not threads.ended[row] or threads.born[row]:
            continue
        where = (name, threads.reading("comm", row), threads.now["tid"][row])
        tally.judge("cgroup of a thread that exited", where, has_value(threads.reading("cgroup", row)), threads.reading("cgroup", row), "a path")
        for metric in ROUNDED:
            end, start = threads.reading(metric, row), threads.opening(metric, row)
            if has_value(end) and has_value(start):
                tally.judge("rounding of both ends", (*where, metric), end % KIB != 0 or start % KIB == 0, start, start - start % KIB)
