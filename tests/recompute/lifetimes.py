"""Values of snapshots: the threads that two snapshots of the same boot have in common, and the age of a group's threads."""

from capture_file import NO_LIMIT, has_value
from grouping import HOST

SECOND = 10**9
PARTS = ("delta_alive", "delta_new", "delta_gone")
COUNTS = ("threads_alive", "threads_new", "threads_gone")


def members(run, group):
    """Returns {(tid, start time): row}; None if a start time is unknown."""
    threads, found = run.span.tables["thread"], {}
    for row in range(threads.rows) if group == HOST else run.rows["thread"].get(group, ()):
        start = threads.reading("start_time_clock_ticks", row)
        if not has_value(start):
            return None
        found[threads.now["tid"][row], start] = row
    return found


def turnover(before, after, group, metric):
    """Returns how many threads are on both sides, only on the last and only on the first, and how much each contributes to a difference."""
    nothing = dict.fromkeys(PARTS + COUNTS)
    old, new = members(before, group), members(after, group)
    if old is None or new is None:
        return nothing
    stay = old.keys() & new.keys()
    found = nothing | dict(zip(COUNTS, (len(stay), len(new.keys() - stay), len(old.keys() - stay))))
    definition = after.span.metrics.get(metric, {"rule": "SumCount" if metric == "thread_count" else "none", "entity": "thread"})
    if not definition["rule"].startswith("Sum") or definition["entity"] != "thread":
        return found if definition["entity"] == "thread" or old or new else nothing
    sums = []
    for run, rows in ((before, old), (after, new)):
        cells = {key: 1 if metric == "thread_count" else run.span.value("thread", metric, row) for key, row in rows.items()}
        cells = {key: cell for key, cell in cells.items() if has_value(cell)}
        if not cells or sum(cells.values()) > NO_LIMIT:
            return found
        sums.append([sum(cell for key, cell in cells.items() if (key in stay) == wanted) for wanted in (True, False)])
    (old_stay, old_turn), (new_stay, new_turn) = sums
    return found | dict(zip(PARTS, (new_stay - old_stay, new_turn, -old_turn)))


def oldest_age(run, group, entity):
    """Returns (minimum, maximum) of the age in ns of the group's oldest thread, or of the host's boot; None if unknown.

    Threads are read one after the other: the minimum is the age when the oldest was read, the maximum that at the end of the capture.
    """
    span = run.span
    ended = max(span.last.start, span.last.summary.get("end", {}).get("monotonic_ns", 0))
    if entity == "host":
        uptime = span.tables["host"].reading("host.uptime_ns", 0)
        return (uptime, max(uptime, ended)) if has_value(uptime) else None
    threads, tick = span.tables["thread"], SECOND // span.last.about["user_hz"]
    rows = run.rows["thread"].get(group, ())
    starts = [threads.reading("start_time_clock_ticks", row) for row in rows]
    if not rows or not all(map(has_value, starts)):
        return None
    moments = [span.last.start + threads.moments[row][1] for row in rows]
    least = max(moment - start * tick for moment, start in zip(moments, starts))
    return least, max(*moments, ended) - min(starts) * tick
