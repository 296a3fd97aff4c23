"""Checks that threads that exited in a window have the values that they read about themselves, with any source this kernel supports.

In scope:       checks on the windows of guest/windows.sh, in which tests/record/ends.c ran.
Out of scope:   the accuracy of the values (tests/record/exited_threads_test.py): an emulated machine is slow and interrupts at any time.
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
MAX_LATER_CPU_NS = 1000 * MS  # CPU time that a thread uses after it read its own values; the host's load counts as time of the guest
FIRST_WITH_BPF = (5, 17)


def path_of(output, name):
    return os.path.join(output.out, "windows", f"{name}.ctprof.zst")


def window_of(output, name):
    return Window(path_of(output, name))


def pairs(output, name):
    """Returns the values that each thread read about itself, and its rows."""
    rows = window_of(output, name).ended_by("tid")
    exited_tasks = [ExitedTask(line) for line in output.text(f"windows/{name}.lines").splitlines()]
    return [(one, [row for row in rows.get(one.tid, []) if row.value("comm") == "ends"]) for one in exited_tasks]


def check_values(one, row, by_bpf):
    """Only BPF counts the last context switch."""
    wrong = [metric for metric, read in (("minflt", one.minflt), ("majflt", one.majflt)) if row.value(metric) != read]
    if not 0 <= row.value("run_time_ns") - one.cpu_ns <= MAX_LATER_CPU_NS:
        wrong.append(f"run_time_ns {row.value('run_time_ns')}, not from {one.cpu_ns} on,")
    switches = row.value("voluntary_csw") - one.voluntary
    if not (1 <= switches <= 2 if by_bpf else 0 <= switches <= 1):
        wrong.append(f"voluntary_csw {switches} more")
    if by_bpf and row.value("syscr") != one.io[2]:
        wrong.append(f"syscr {row.value('syscr')}, not {one.io[2]}")
    return [f"{one.tid}: {what} is wrong" for what in wrong]


def show(output, name):
    return subprocess.run([output.ctprof, "show", path_of(output, name)], capture_output=True, text=True, check=False)


def check(output, name, by_bpf):
    if output.notes.get(f"window-{name}") != "0":
        return [f"record {name} ended with {output.notes.get(f'window-{name}')}: {output.text(f'windows/{name}.log')}"]
    found, wrong = pairs(output, name), []
    head = window_of(output, name).head
    if len(found) != COUNT or head["ended_lost"] or not head["sees_ends"]:
        wrong.append(f"{name}: {len(found)} threads exited, {head['ended_lost']} lost, seen: {head['sees_ends']}")
    for one, rows in found:
        wrong += check_values(one, rows[0], by_bpf) if len(rows) == 1 else [f"{name}: {one.tid} is in {len(rows)} rows"]
        if rows and rows[0].value("cgroup") != "/":
            wrong.append(f"{name}: {one.tid} is in cgroup {rows[0].value('cgroup')}")
        if rows and rows[0].value("pcomm") != "ends":
            wrong.append(f"{name}: {one.tid} is of process {rows[0].value('pcomm')}")
    finished = show(output, name)
    return wrong if finished.returncode == 0 else [*wrong, f"{name} cannot be shown: {finished.stderr}"]


def by_best_source(output):
    by_bpf = output.kernel.number >= FIRST_WITH_BPF
    return check(output, "best-processes", by_bpf) + check(output, "best-threads", by_bpf)


def by_netlink_only(output):
    return check(output, "netlink-processes", False) + check(output, "netlink-threads", False)


CPU_NOTES = {"cpu-back": "CPU 1 went offline and came back", "cpu-went": "CPU 1 went offline", "cpu-came": "CPU 1 came online"}


def about_cpus(output, name):
    return [note for note in window_of(output, name).head["notes"] if note.startswith("CPU")]


def cpu_notes(output):
    """A window without CPU hotplug must have no note about CPUs."""
    wrong = [f"{name}: {about_cpus(output, name)}" for name in ("best-processes", "best-threads") if about_cpus(output, name)]
    for name, note in CPU_NOTES.items():
        if output.notes.get(f"window-{name}") != "0":
            wrong.append(f"record {name} ended with {output.notes.get(f'window-{name}')}: {output.text(f'windows/{name}.log')}")
        elif about_cpus(output, name) != [note]:
            wrong.append(f"{name}: {about_cpus(output, name)}, not {note}")
        elif note not in show(output, name).stdout:
            wrong.append(f"{name}: not shown by `show`: {note}")
    return wrong


CHECKS = {"windows with exited threads": by_best_source, "windows with exited threads, by netlink": by_netlink_only,
          "windows with CPU hotplug": cpu_notes}
