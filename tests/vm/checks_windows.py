"""Threads that ended in a window have the figures that they knew of themselves, whoever tells of them on this kernel.

What is here:   checks on the windows of guest/windows.sh, which tests/record/ends.c was run in.
What is not:    how exact they are (tests/record/ends_test.py): an emulated machine is slow, and interrupts where it likes.
"""

import os
import subprocess
import sys

from image import HERE

sys.path.append(os.path.join(HERE, "..", "record"))
from exited_task import ExitedTask  # noqa: E402  pylint: disable=wrong-import-position
from window_file import Window  # noqa: E402  pylint: disable=wrong-import-position

COUNT = 100
US, MS = 1_000, 1_000_000
LATE_NS = 1000 * MS  # what a thread does after it looked at itself; a busy host takes its time from the guest
FIRST_WITH_BPF = (5, 17)


def path_of(left, name):
    return os.path.join(left.out, "windows", f"{name}.ctprof.zst")


def window_of(left, name):
    return Window(path_of(left, name))


def pairs(left, name):
    """What each thread read of itself, and its rows."""
    rows = window_of(left, name).ended_by("tid")
    ended = [ExitedTask(line) for line in left.text(f"windows/{name}.lines").splitlines()]
    return [(one, [row for row in rows.get(one.tid, []) if row.value("comm") == "ends"]) for one in ended]


def wrong_figures(one, row, by_bpf):
    """The last switch is there with BPF alone."""
    wrong = [metric for metric, read in (("minflt", one.minflt), ("majflt", one.majflt)) if row.value(metric) != read]
    if not 0 <= row.value("run_time_ns") - one.cpu_ns <= LATE_NS:
        wrong.append(f"run_time_ns {row.value('run_time_ns')}, not from {one.cpu_ns} on,")
    switches = row.value("voluntary_csw") - one.voluntary
    if not (1 <= switches <= 2 if by_bpf else 0 <= switches <= 1):
        wrong.append(f"voluntary_csw {switches} more")
    if by_bpf and row.value("syscr") != one.io[2]:
        wrong.append(f"syscr {row.value('syscr')}, not {one.io[2]}")
    return [f"{one.tid}: {what} is wrong" for what in wrong]


def show(left, name):
    return subprocess.run([left.ctprof, "show", path_of(left, name)], capture_output=True, text=True, check=False)


def check(left, name, by_bpf):
    if left.notes.get(f"window-{name}") != "0":
        return [f"record {name} ended with {left.notes.get(f'window-{name}')}: {left.text(f'windows/{name}.log')}"]
    found, wrong = pairs(left, name), []
    head = window_of(left, name).head
    if len(found) != COUNT or head["ended_lost"] or not head["sees_ends"]:
        wrong.append(f"{name}: {len(found)} threads ended, {head['ended_lost']} lost, seen: {head['sees_ends']}")
    for one, rows in found:
        wrong += wrong_figures(one, rows[0], by_bpf) if len(rows) == 1 else [f"{name}: {one.tid} stands in {len(rows)} rows"]
        if rows and rows[0].value("cgroup") != "/":
            wrong.append(f"{name}: {one.tid} is in cgroup {rows[0].value('cgroup')}")
        if rows and rows[0].value("pcomm") != "ends":
            wrong.append(f"{name}: {one.tid} is of process {rows[0].value('pcomm')}")
    done = show(left, name)
    return wrong if done.returncode == 0 else [*wrong, f"{name} cannot be shown: {done.stderr}"]


def best(left):
    by_bpf = left.kernel.number >= FIRST_WITH_BPF
    return check(left, "best-processes", by_bpf) + check(left, "best-threads", by_bpf)


def netlink(left):
    return check(left, "netlink-processes", False) + check(left, "netlink-threads", False)


CPU_NOTES = {"cpu-back": "CPU 1 went offline and came back", "cpu-went": "CPU 1 went offline", "cpu-came": "CPU 1 came online"}


def about_cpus(left, name):
    return [note for note in window_of(left, name).head["notes"] if note.startswith("CPU")]


def cpu_notes(left):
    """Of a window in which no CPU came or went, nothing."""
    wrong = [f"{name}: {about_cpus(left, name)}" for name in ("best-processes", "best-threads") if about_cpus(left, name)]
    for name, note in CPU_NOTES.items():
        if left.notes.get(f"window-{name}") != "0":
            wrong.append(f"record {name} ended with {left.notes.get(f'window-{name}')}: {left.text(f'windows/{name}.log')}")
        elif about_cpus(left, name) != [note]:
            wrong.append(f"{name}: {about_cpus(left, name)}, not {note}")
        elif note not in show(left, name).stdout:
            wrong.append(f"{name}: not told when it is shown: {note}")
    return wrong


CHECKS = {"windows with ended threads": best, "windows with ended threads, by netlink": netlink,
          "windows in which a CPU goes and comes": cpu_notes}
