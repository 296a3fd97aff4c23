"""Spans: the changes of each row between two times, as defined in docs/windows.md.

    span = span_of_capture(capture)                   # a window file: its window; a snapshot: lifetimes
    span = of_pair(before, after)                # A..B, two snapshots of the same boot
    span = span_of_consecutive(captures)              # consecutive windows as one window

    span.value(entity, "run_time_ns", row)       # the difference over the window, or the reading of a snapshot
    span.opening(entity, "rss_bytes", row)       # a reading at the opening of the window
"""

from capture_file import NO_BASE, NOT_APPLICABLE, WENT_BACKWARDS, Table, has_value

BLOCKED = "blocked_time_ns"
ENTITIES = ("thread", "process", "cgroup", "host")
SECOND = 10**9
# Key of the read time, in addition to the cells of a row that only the opening has.
READ_TIME = "read at"


class Span:
    """Tables of rows with their opening and final readings, and the two times of the span (ns of the boot's monotonic clock)."""

    def __init__(self, last, tables, opened, is_window, based):
        self.last, self.tables, self.opening_time, self.is_window, self.based = last, tables, opened, is_window, based
        self.metrics, self.derived = last.metrics, last.derived
        self.closed = last.start
        self.first = last
        self.captures = [last]
        # Threads that exited between two snapshots have no row, but are counted.
        self.unseen = last.window["ended_unseen"] if last.window else 0
        self.in_progress = {last.with_role(role): last.with_role(role + "-in-progress") for role in ("run-time", "wait-time")}
        self.in_progress.pop(None, None)
        self.state = last.with_role("state")
        # The kernel estimates how run time divides into these; one can decrease although their sum does not.
        self.user_and_system = [last.with_role(role) for role in ("user-time", "system-time")]
        if is_window and len(self.in_progress) == 2:
            self.metrics = self.metrics | {BLOCKED: {"name": BLOCKED, "entity": "thread", "storage": "u64", "rule": "SumNs", "unit": "ns",
                                                     "family": "cumulative", "newtype": "MonotonicNs", "section": "primary"}}

    def is_counter(self, name, key=None):
        """Returns whether the metric, or one key of a map, is a counter, whose value in a window is its difference."""
        metric = self.metrics[name]
        if metric["storage"] == "map":
            return map_key_is_counter(metric, key)
        return metric["family"] == "cumulative"

    def value(self, entity, name, row):
        if name == BLOCKED:
            return self.blocked_time(row)
        table, metric = self.tables[entity], self.metrics[name]
        now = table.reading(name, row)
        if not self.is_window or metric["storage"] == "stacks":
            return now
        if metric["storage"] == "map":
            return self.map_value(table, metric, row, now)
        if metric["family"] != "cumulative":
            return now
        if name not in self.based:
            return now if has_value(now) and table.born[row] else NO_BASE if has_value(now) else now
        then = 0 if table.born[row] else table.opening(name, row)
        if name in self.in_progress:
            now = now if table.ended[row] else self.add_time_in_progress(table.now, name, row, now)
            then = then if table.born[row] else self.add_time_in_progress(table.then, name, row, then)
        if name in self.user_and_system and has_value(now) and has_value(then):
            return self.user_or_system_time(table, name, row, now - then)
        return difference(now, then)

    def user_or_system_time(self, table, name, row, change):
        """Returns user or system time: 0 if one of them decreased; the other one then has the change of their sum."""
        other = self.user_and_system[1 - self.user_and_system.index(name)]
        end, start = table.reading(other, row), 0 if table.born[row] else table.opening(other, row)
        if not has_value(end) or not has_value(start):
            return change if change >= 0 else WENT_BACKWARDS
        beside = end - start
        if change + beside < 0:
            return change if change >= 0 else WENT_BACKWARDS
        return 0 if change < 0 else change + min(0, beside)

    def add_time_in_progress(self, cells, name, row, reading):
        """Returns a time including the part in progress; unknown for a runnable thread if that part is missing."""
        part = self.in_progress[name]
        if not has_value(reading):
            return reading
        if part in cells and has_value(cells[part][row]):
            return reading + cells[part][row]
        return NO_BASE if self.state in cells and cells[self.state][row] == "R" else reading

    def map_value(self, table, metric, row, now):
        if not has_value(now):
            return now
        then = {} if table.born[row] else table.opening(metric["name"], row)
        counters = [key for key in now if map_key_is_counter(metric, key)]
        if counters and not has_value(then):
            return then if len(counters) == len(now) else {key: now[key] for key in now if key not in counters}
        found = {}
        for key, reading in now.items():
            if key not in counters:
                found[key] = reading
            elif has_value(change := difference(reading, then.get(key, 0))):
                found[key] = change
        return found

    def opening(self, entity, name, row):
        table = self.tables[entity]
        return NOT_APPLICABLE if table.born[row] else table.opening(name, row)

    def covered_time(self, name):
        """Returns the time that a recorder covers, over all windows of the span; 0 for other metrics."""
        metric = self.metrics.get(name, {})
        recorders = [recorder for capture in self.captures for recorder in capture.summary.get("stacks", ())]
        return sum(recorder.get("covered_ns") or 0 for recorder in recorders
                   if (recorder["plugin"], recorder["source"]) == (metric.get("filled_by"), metric.get("filled_from")))

    def wall(self, row):
        first, last = self.tables["thread"].moments[row]
        return last - first

    def blocked_time(self, row):
        parts = [self.value("thread", name, row) for name in self.in_progress]
        gaps = [part for part in parts if not has_value(part)]
        return gaps[0] if gaps else max(0, self.wall(row) - sum(parts))

    def rates_over(self):
        """Returns the mean time between both readings of threads that existed throughout; without such threads the window's length."""
        threads = self.tables["thread"]
        times = [self.wall(row) for row in range(threads.rows) if not threads.born[row] and not threads.ended[row] and threads.moments[row][0]]
        return (sum(times), len(times)) if times else (self.closed - self.opening_time, 1)


def map_key_is_counter(metric, key):
    """Parses `map_keys`, such as `gauge bytes: anon file; counter count: *`; without it all keys have the metric's family."""
    starred = metric["family"] == "cumulative"
    for part in filter(None, (metric.get("map_keys") or "").split(";")):
        kind, _, keys = part.partition(":")
        is_counter = kind.split()[0] == "counter"
        if key in keys.split():
            return is_counter
        if "*" in keys.split():
            starred = is_counter
    return starred


def difference(now, then):
    for reading in (now, then):
        if not has_value(reading):
            return reading
    return now - then if now >= then else WENT_BACKWARDS


def span_of_capture(capture):
    based = capture.based
    return Span(capture, capture.tables, capture.opening_time, capture.is_window, based)


# ---- windows between two snapshots -------------------------------------------------------------------------------------------------

IDENTITY = {"thread": ("tid", "start_time_clock_ticks"), "process": ("process.tgid",), "cgroup": ("cgroup.path", "cgroup.id"), "host": ()}


def identities(table, entity):
    return [tuple(table.reading(name, row) for name in IDENTITY[entity]) for row in range(table.rows)]


def of_pair(before, after):
    """A..B. A thread is the same if its tid and start time are; a row that only `before` has is known by its opening values."""
    tick = SECOND // before.about["user_hz"]
    opened_ticks = before.start // tick
    started = process_starts(before), process_starts(after)
    tables = {entity: pair_tables(entity, before.tables[entity], after.tables[entity], started, opened_ticks) for entity in ENTITIES}
    based = {name for name, metric in after.metrics.items() if metric["family"] != "identity"}
    span = Span(after, tables, before.start, True, based)
    span.first, span.captures = before, [before, after]
    threads = tables["thread"]
    for row, (at, of_before) in enumerate(threads.moments):
        first = max(0, threads.now["start_time_clock_ticks"][row] * tick - before.start) if threads.born[row] else of_before
        threads.moments[row] = (first, after.start - before.start + at)
    span.unseen = len(threads.opening_only_rows)
    follow_execs(span)
    return span


# Maximum difference between the clocks of run queues and the clock of readings.
CLOCK_SLACK_NS = 5_000_000


def follow_execs(span):
    """Handles an exec by a thread that is not the leader: the thread becomes the leader, with its own counters.

    In this case the row has more run and wait time than wall time, which is impossible for one thread. Its opening values are those of
    the thread of the process that has no row at the end and whose counters do not exceed those of the row. If this is not exactly one
    thread, the opening values are unknown.
    """
    table, times = span.tables["thread"], list(span.in_progress)
    for row in range(table.rows):
        used = [span.value("thread", name, row) for name in times]
        if table.born[row] or not all(map(has_value, used)) or sum(used) <= span.wall(row) + CLOCK_SLACK_NS:
            continue
        tgid = table.now["tgid"][row]
        found = [cells for cells in table.opening_only_rows if cells["tgid"] == tgid and all(
            not has_value(cells[name]) or cells[name] <= table.now[name][row] for name in times)]
        taken = found[0] if EXEC_RULE == "follow" and len(found) == 1 else {}
        if taken:
            table.moments[row] = (taken[READ_TIME], table.moments[row][1])
        for name, cells in table.then.items():
            if span.metrics[name]["family"] == "cumulative":
                cells[row] = taken.get(name, NO_BASE)


# After an exec by a thread that is not the leader: "follow" (docs/windows.md, Identity) or "no base".
EXEC_RULE = "follow"


def process_starts(capture):
    """Returns {tgid: start time of its leader, or of its first thread}."""
    threads, found = capture.tables["thread"], {}
    for row in range(threads.rows):
        tgid, tid = threads.now["tgid"][row], threads.now["tid"][row]
        if tid == tgid or tgid not in found:
            found[tgid] = threads.reading("start_time_clock_ticks", row)
    return found


def pair_tables(entity, before, after, started, opened_ticks):
    table = Table(after.metrics)
    table.rows, table.now = after.rows, after.now
    known = {key: row for row, key in enumerate(identities(before, entity))}
    rows = [known.get(key) for key in identities(after, entity)]
    if entity == "process":
        rows = [row if row is not None and started[0].get(key[0]) == started[1].get(key[0]) else None
                for row, key in zip(rows, identities(after, entity))]
    table.born = [row is None and is_new(entity, after, at, started, opened_ticks) for at, row in enumerate(rows)]
    table.ended = [False] * after.rows
    for name in after.metrics:
        if name in before.now:
            table.then[name] = [NO_BASE if row is None else before.now[name][row] for row in rows]
        elif name in after.now and before.metrics.get(name):
            table.then[name] = [NO_BASE if row is None else before.missing(name) for row in rows]
    table.moments = [(at and at[1], None if row is None else before.moments[row][1]) for at, row in zip(after.moments, rows)]
    kept = set(rows)
    table.opening_only_rows = [{name: before.now[name][row] for name in before.now} | {READ_TIME: before.moments[row][1] if before.moments[row] else None}
                  for row in range(before.rows) if row not in kept]
    return table


def is_new(entity, after, row, started, opened_ticks):
    """Returns whether a row without an opening reading started inside the window, by its start time."""
    start = after.reading("start_time_clock_ticks", row) if entity == "thread" else \
        started[1].get(after.now["process.tgid"][row]) if entity == "process" else None
    return entity in ("cgroup", "host") or start is not None and has_value(start) and start >= opened_ticks


# ---- consecutive windows -------------------------------------------------------------------------------------------------------

def span_of_consecutive(captures):
    """Joins consecutive windows: uses the opening values of the first window with a row, and the readings of the last."""
    if len(captures) == 1:
        return span_of_capture(captures[0])
    last = captures[-1]
    tables = {entity: join_tables(entity, [capture.tables[entity] for capture in captures],
                                  [capture.opening_time - captures[0].opening_time for capture in captures], last.metrics) for entity in ENTITIES}
    span = Span(last, tables, captures[0].opening_time, True, set.intersection(*(capture.based for capture in captures)))
    span.first, span.captures = captures[0], captures
    span.unseen = sum(capture.window["ended_unseen"] for capture in captures)
    return span


def join_tables(entity, tables, shifts, metrics):
    joined, rows = Table(metrics), {}
    for number, table in enumerate(tables):
        for row, key in enumerate(identities(table, entity)):
            rows.setdefault(key, []).append((number, row))
    living = [where for where in rows.values() if where[-1][0] == len(tables) - 1 and not tables[-1].ended[where[-1][1]]]
    exited = [where for where in rows.values() if entity == "thread" and tables[where[-1][0]].ended[where[-1][1]]]
    vanished = [where for where in rows.values() if where[-1][0] < len(tables) - 1 and where not in exited]
    joined.rows = len(living) + len(exited)
    order = lambda where: tables[where[-1][0]].sort_key(entity, where[-1][1])
    kept = sorted(living, key=order) + sorted(exited, key=order)
    for name in metrics:
        joined.now[name] = [tables[where[-1][0]].reading(name, where[-1][1]) for where in kept]
        if any(name in table.then for table in tables):
            joined.then[name] = [tables[where[0][0]].opening(name, where[0][1]) for where in kept]
    joined.born = [tables[where[0][0]].born[where[0][1]] for where in kept]
    joined.ended = [False] * len(living) + [True] * len(exited)
    joined.moments = [moments_of(where, tables, shifts) for where in kept] if entity == "thread" else [None] * joined.rows
    for number, row in (where[0] for where in vanished):
        if not tables[number].born[row]:
            joined.opening_only_rows.append({name: tables[number].opening(name, row) for name in tables[number].then}
                               | {name: tables[number].reading(name, row) for name in IDENTITY[entity] + ("process.pcomm",) if name in metrics})
    joined.opening_only_rows += tables[0].opening_only_rows
    joined.opening_only_is_complete = all(table.opening_only_is_complete for table in tables)
    return joined


def moments_of(where, tables, shifts):
    (first, row), (last, end) = where[0], where[-1]
    return shifts[first] + tables[first].moments[row][0], shifts[last] + tables[last].moments[end][1]
