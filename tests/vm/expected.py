"""Predicts which metrics of the vocabulary a kernel has, from its version, its configuration and the version of its taskstats struct.

In scope:       the gap that a metric must have on a kernel, and why, or that it must have values; metrics that no guest can show.
Out of scope:   the contents of a capture (guest_output.py), what the workload moves (checks_workload.py).
"""

import csv
import os
import re

from image import HERE

METRICS = os.path.join(HERE, "..", "..", "plugins", "vocabulary", "metrics.tsv")

# No Debian kernel has these options. tests/parity/constructed_test.py and its fixtures test them instead.
CONSTRUCTED_GATES = ("CONFIG_SCHED_CORE", "CONFIG_IRQ_TIME_ACCOUNTING")

SCX_GATE = "CONFIG_SCHED_CLASS_EXT"

# Pressure: the kernel defines these as zero, because it does not report for the whole system that all tasks wait for a CPU.
# Others: the guest runs no guests of its own, gets no report of stolen time, and does not account interrupts by time. Whether a thread
# waits for a disk or a CPU at the instant of a capture is chance. For a running thread, no time has passed since the run queue's clock
# was updated.
ALWAYS_ZERO = tuple(f"host.psi.cpu.full.{part}" for part in ("avg10", "avg60", "avg300", "total_usec")) + (
    "host.cpu.irq_ns", "host.cpu.steal_ns", "host.cpu.guest_ns", "host.cpu.guest_nice_ns", "host.cpu.irq_apart",
    "host.cpu.steal_apart", "host.procs_blocked", "run_in_progress_ns", "wait_in_progress_ns")

# Metrics that the workload could not provoke -> what was tried.
NOT_PROVOKED = {}


def vocabulary():
    """Returns the rows of metrics.tsv that a plugin fills and the file stores."""
    with open(METRICS, encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [row for row in rows if row["kind"] == "primary" and row["file_path"] != "none"]


def gates_of(metric):
    gates = [gate for gate in metric["config_gates"].split(",") if gate]
    if metric["name"].startswith("irq_delay"):
        gates.append("CONFIG_IRQ_TIME_ACCOUNTING")
    if metric["name"].endswith("_apart"):  # a guest has no /boot with the configuration
        gates.append("CONFIG_IKCONFIG_PROC")
    return gates


def is_constructed(metric):
    return any(gate in CONSTRUCTED_GATES for gate in gates_of(metric))


def why_missing(metric, kernel, taskstats_version):
    """Returns (gap, reason), or None if the kernel has the metric."""
    if metric["applies_to"] == "never":
        return "NotApplicable", "no kernel has the line"
    missing_gates = [gate for gate in gates_of(metric) if not kernel.has(gate)]
    if missing_gates:
        return "Unsupported", f"no {missing_gates[0]}"
    of_struct = re.match(r"taskstats v(\d+)", metric["since"])
    if of_struct and int(of_struct[1]) > taskstats_version:
        return "Unsupported", f"taskstats is v{taskstats_version}, it came with v{of_struct[1]}"
    since = re.match(r"(\d+)\.(\d+)", metric["since"])
    if since and (int(since[1]), int(since[2])) > kernel.number:
        return "Unsupported", f"since Linux {since[0]}"
    if metric["applies_to"] == "scx-loaded":
        return "NotApplicable", "no BPF scheduler is loaded"
    return None
