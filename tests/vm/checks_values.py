"""Every metric of the vocabulary, on this kernel: there and moved, or a gap for the right reason. And the table of it.

What is here:   the checks on the capture after the workload, by metric; the cells of the table.
What is not:    which thread must have moved which metric (checks_moved.py), whether values are right (checks_plain.py).
"""

from collections import Counter
from dataclasses import dataclass

import expected
from captured import Gap

# A cell may be empty although the kernel has the metric: for a thread or cgroup of another kind (what kind, checks_plain.py knows).
ROW_REASONS = {"thread": {"NotApplicable", "ThreadGone"}, "process": {"NotApplicable", "ThreadGone"},
               "cgroup": {"NotApplicable", "ThreadGone", "SwitchedOff"}, "host": set()}
NOTHING = (0, b"", [], {}, False)

# What only grows: the workload must have made it, in some row.
GROWING = ("MonotonicCount", "MonotonicNs", "MonotonicUs", "ClockTicks", "Bytes", "CountMap", "BytesMap")


@dataclass(frozen=True)
class Cell:
    """A metric on a kernel."""

    metric: dict
    values: int
    rows: int
    largest: object  # None where no value is other than nothing
    gaps: dict  # name -> cells
    expected: tuple  # (gap, reason), or None
    may_have: set  # gaps that its rows may have on a kernel that has the metric
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
    some = [value for value in values if value not in NOTHING]
    try:
        return max(some, default=None)
    except TypeError:  # maps: one of them serves
        return max(some, key=len)


def found_in(left, metric, capture):
    rows = left.rows(capture, metric["entity"]).values()
    return [row[metric["name"]] for row in rows if metric["name"] in row]


def number(value):
    """Of a counter, or of all that a map counts; None for a gap."""
    return None if isinstance(value, Gap) else sum(value.values()) if isinstance(value, dict) else value


def has_grown(left, metric):
    """Whether it did where it counts up; of others, nothing is asked."""
    if metric["newtype"] not in GROWING or expected.SCX_GATE in metric["config_gates"]:
        return True
    name, before = metric["name"], left.rows("first", metric["entity"])
    unborn = {name: 0} if metric["applies_to"] == "jemalloc" else {name: Gap("ThreadGone")}  # the heap's threads begin in between
    pairs = ((number(before.get(key, unborn)[name]), number(row[name])) for key, row in left.rows("second", metric["entity"]).items()
             if name in row)
    return any(then is not None and now is not None and now > then for then, now in pairs)


def seen_with_schedulers(left, metric):
    """What tells of BPF schedulers moves only while there are some."""
    if expected.SCX_GATE not in metric["config_gates"]:
        return []
    return [value for capture in left.statuses if capture.startswith("scx-") for value in found_in(left, metric, capture)]


def allowed_gaps(left, metric):
    """A thread that is older than the switch of delay accounting has none of it."""
    switched_late = metric["plugin"] == "taskstats" and left.notes.get("delayacct_at_boot") == "0"
    return ROW_REASONS[metric["entity"]] | ({"PredatesSwitch"} if switched_late else set())


def cell(left, metric):
    found = found_in(left, metric, "second")
    values = [value for value in found if not isinstance(value, Gap)]
    gaps = Counter(value.name for value in found if isinstance(value, Gap))
    later = [value for value in seen_with_schedulers(left, metric) if not isinstance(value, Gap)]
    return Cell(metric, len(values), len(found), largest(values + later), dict(gaps),
                expected.why_not(metric, left.kernel, left.taskstats_version), allowed_gaps(left, metric),
                left.statuses.get("scx-full") == 0, has_grown(left, metric))


def cells(left):
    return [cell(left, metric) for metric in expected.vocabulary()]


def complaint(each):
    """Why a cell of the table is wrong, or None."""
    if each.rows == 0:
        return "is not in the file"
    if each.expected:
        gap, reason = each.expected
        if each.gaps != {gap: each.rows}:
            return f"should be {gap} throughout ({reason}), but has {each.values} values and gaps {each.gaps}"
        return None if each.metric["applies_to"] != "scx-loaded" or gap == "Unsupported" or each.largest is not None or each.may_be_zero \
            else "is nothing, a scheduler or not"
    if each.values == 0:
        return f"this kernel has it, but there are only gaps: {each.gaps}"
    if not set(each.gaps) <= each.may_have:
        return f"has gaps {each.gaps}"
    if each.may_be_zero:
        return None
    if each.largest is None:
        return f"is nothing in all {each.values} rows"
    return None if each.grew else "counts up, but did not in any row"


def complaints(left):
    judged = ((each.metric["name"], complaint(each)) for each in cells(left))
    return [f"{name} {why}" for name, why in judged if why]


def file_faults(left):
    """Each cell a value or one gap, in every capture that was made; and every capture was made."""
    faults = [f"capture {name} ended with {status}: {left.said(name)}" for name, status in left.statuses.items() if status != 0]
    for name, status in left.statuses.items():
        if status == 0:
            faults += [f"capture {name}: {fault}" for fault in left.file(name).faults()]
    return faults


CHECKS = {"every capture succeeds, each cell a value or one gap": file_faults,
          "every metric moves, or is a gap for the right reason": complaints}
