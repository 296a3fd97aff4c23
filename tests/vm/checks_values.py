"""Checks every metric of the vocabulary on this kernel: it has values that move, or a gap for the right reason. Also makes the cells of the
table.

In scope:       checks by metric on the capture after the workload; the cells of the table.
Out of scope:   which thread must have moved which metric (checks_workload.py), whether values are correct (checks_plain.py).
"""

from collections import Counter
from dataclasses import dataclass

import expected
from guest_output import Gap

# A cell may be empty although the kernel has the metric, for threads or cgroups to which it does not apply (checks_plain.py checks which).
ROW_REASONS = {"thread": {"NotApplicable", "ThreadGone"}, "process": {"NotApplicable", "ThreadGone"},
               "cgroup": {"NotApplicable", "ThreadGone", "SwitchedOff"}, "host": set()}
EMPTY_VALUES = (0, b"", [], {}, False)

# Types of counters. The workload must have increased each of them in at least one row.
GROWING = ("MonotonicCount", "MonotonicNs", "MonotonicUs", "ClockTicks", "Bytes", "CountMap", "BytesMap")


@dataclass(frozen=True)
class Cell:
    """One metric on one kernel."""

    metric: dict
    values: int
    rows: int
    largest: object  # None if all values are zero or empty
    gaps: dict  # name -> cells
    expected: tuple  # (gap, reason), or None
    may_have: set  # gaps that single rows may have on a kernel that has the metric
    had_schedulers: bool
    grew: bool  # between the captures, in some row

    @property
    def is_constructed(self):
        return expected.is_constructed(self.metric)

    @property
    def may_be_zero(self):
        name, gates = self.metric["name"], self.metric["config_gates"]
        without = expected.SCX_GATE in gates and not self.had_schedulers
        return without or name in expected.ALWAYS_ZERO or name in expected.NOT_PROVOKED


def largest(values):
    some = [value for value in values if value not in EMPTY_VALUES]
    try:
        return max(some, default=None)
    except TypeError:  # maps cannot be compared; any map will do
        return max(some, key=len)


def found_in(output, metric, capture):
    rows = output.rows(capture, metric["entity"]).values()
    return [row[metric["name"]] for row in rows if metric["name"] in row]


def number(value):
    """Returns the value of a counter, or the sum of a map, or None for a gap."""
    return None if isinstance(value, Gap) else sum(value.values()) if isinstance(value, dict) else value


def has_grown(output, metric):
    """Returns whether a counter has grown. True for other metrics."""
    if metric["newtype"] not in GROWING or expected.SCX_GATE in metric["config_gates"]:
        return True
    name, before = metric["name"], output.rows("first", metric["entity"])
    row_before_start = {name: 0} if metric["applies_to"] == "jemalloc" else {name: Gap("ThreadGone")}  # the heap's threads start between the captures
    pairs = ((number(before.get(key, row_before_start)[name]), number(row[name])) for key, row in output.rows("second", metric["entity"]).items()
             if name in row)
    return any(then is not None and now is not None and now > then for then, now in pairs)


def seen_with_schedulers(output, metric):
    """Metrics about BPF schedulers move only while one is loaded."""
    if expected.SCX_GATE not in metric["config_gates"]:
        return []
    return [value for capture in output.statuses if capture.startswith("scx-") for value in found_in(output, metric, capture)]


def allowed_gaps(output, metric):
    """A thread that started before delay accounting was switched on has no delays."""
    switched_late = metric["plugin"] == "taskstats" and output.notes.get("delayacct_at_boot") == "0"
    return ROW_REASONS[metric["entity"]] | ({"PredatesSwitch"} if switched_late else set())


def cell(output, metric):
    found = found_in(output, metric, "second")
    values = [value for value in found if not isinstance(value, Gap)]
    gaps = Counter(value.name for value in found if isinstance(value, Gap))
    later = [value for value in seen_with_schedulers(output, metric) if not isinstance(value, Gap)]
    return Cell(metric, len(values), len(found), largest(values + later), dict(gaps),
                expected.why_missing(metric, output.kernel, output.taskstats_version), allowed_gaps(output, metric),
                output.statuses.get("scx-full") == 0, has_grown(output, metric))


def cells(output):
    return [cell(output, metric) for metric in expected.vocabulary()]


def find_error(each):
    """Returns why a cell of the table is wrong, or None."""
    if each.rows == 0:
        return "is not in the file"
    if each.expected:
        gap, reason = each.expected
        if each.gaps != {gap: each.rows}:
            return f"should be {gap} throughout ({reason}), but has {each.values} values and gaps {each.gaps}"
        return None if each.metric["applies_to"] != "scx-loaded" or gap == "Unsupported" or each.largest is not None or each.may_be_zero \
            else "is empty even with a scheduler"
    if each.values == 0:
        return f"this kernel has it, but there are only gaps: {each.gaps}"
    if not set(each.gaps) <= each.may_have:
        return f"has gaps {each.gaps}"
    if each.may_be_zero:
        return None
    if each.largest is None:
        return f"is zero or empty in all {each.values} rows"
    return None if each.grew else "counts up, but did not in any row"


def check_metrics(output):
    judged = ((each.metric["name"], find_error(each)) for each in cells(output))
    return [f"{name} {why}" for name, why in judged if why]


def file_faults(output):
    """Every capture succeeded, and each of its cells is a value or one gap."""
    faults = [f"capture {name} ended with {status}: {output.log_of(name)}" for name, status in output.statuses.items() if status != 0]
    for name, status in output.statuses.items():
        if status == 0:
            faults += [f"capture {name}: {fault}" for fault in output.file(name).faults()]
    return faults


CHECKS = {"every capture succeeds, each cell a value or one gap": file_faults,
          "every metric moves, or is a gap for the right reason": check_metrics}
