"""The heading of a window: its length, started and exited threads, the host's CPU time, and changed settings.

    Heading(span).threads()       # {"threads_before": ..., "threads_after": ..., "born": ..., "ended": ...}
    Heading(span).accounting()    # {"busy_ns": ..., "living_ns": ..., "ended_ns": ..., "unexplained_ns": ...}
    Heading(span).settings()      # {(metric, before, after): rows}
"""

import collections
from fractions import Fraction

from capture_file import NO_LIMIT, has_value
from rules import cpus_of

EXITED = ("Z", "X")
HOST_CPU = "host.cpu."


class Heading:
    def __init__(self, span):
        self.span = span
        self.threads_table = span.tables["thread"]

    def times(self):
        time, count = self.span.rates_over()
        return {"length_ns": self.span.closed - self.span.opening_time, "rates_over_ns": Fraction(time, count)}

    def threads(self):
        table = self.threads_table
        rows = range(table.rows)
        living = sum(not table.ended[row] for row in rows)
        # A thread that exited before the window opened is not counted, even as a zombie.
        of_pair = not self.span.first.is_window
        opening_only = [cells for cells in table.opening_only_rows if of_pair or cells.get("state") not in EXITED]
        return {"threads_before": sum(not table.born[row] for row in rows) + len(opening_only), "threads_after": living,
                "born": sum(table.born), "ended": sum(table.ended), "unseen": self.span.unseen}

    def host(self, name):
        """Returns a value of the host; 0 if there is none."""
        found = self.span.value("host", HOST_CPU + name, 0)
        return found if has_value(found) else 0

    def accounting(self):
        """Returns the CPU accounting. CPUs x wall - idle - iowait is the busy time.

        Steal and interrupts are separate if the clocks of threads exclude them. Threads are read at other times than the host, so their
        time is scaled to the host's window.
        """
        span = self.span
        run_time = span.last.with_role("run-time")
        cpus, wall = self.host("online"), span.value("host", "host.uptime_ns", 0)
        busy = cpus * wall - self.host("idle_ns") - self.host("iowait_ns")
        steal, interrupts = self.host("steal_ns"), self.host("irq_ns") + self.host("softirq_ns")
        busy -= (steal if self.host("steal_apart") else 0) + (interrupts if self.host("irq_apart") else 0)
        parts = {False: 0, True: 0}
        for row in range(self.threads_table.rows):
            time = span.value("thread", run_time, row)
            parts[self.threads_table.ended[row]] += time if has_value(time) else 0
        time, count = span.rates_over()
        parts = {exited: Fraction(part) * wall * count / time for exited, part in parts.items()}
        return {"cpus": cpus, "wall_ns": wall, "busy_ns": busy, "living_ns": parts[False], "ended_ns": parts[True],
                "unexplained_ns": busy - parts[False] - parts[True], "steal_ns": steal, "interrupts_ns": interrupts,
                "steal_apart": bool(self.host("steal_apart")), "interrupts_apart": bool(self.host("irq_apart"))}

    def settings(self):
        """Returns the number of rows whose setting differs between both ends, by metric and both values."""
        found = collections.Counter()
        for name, metric in self.span.metrics.items():
            if not metric.get("setting"):
                continue
            table = self.span.tables[metric["entity"]]
            for row in range(table.rows):
                before, after = self.span.opening(metric["entity"], name, row), table.reading(name, row)
                if not table.ended[row] and has_value(before) and has_value(after) and before != after:
                    found[name, format_setting(metric, before), format_setting(metric, after)] += 1
        return found


def format_setting(metric, cell):
    """Formats a setting as in JSON: CPU sets and limits as text."""
    if metric["storage"] == "bitset":
        return cpus_of([cell])["cpus"]
    return "max" if cell == NO_LIMIT and metric["family"] == "limit" else cell
