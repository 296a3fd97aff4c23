"""What a kernel can have of the vocabulary, worked out from its version, its configuration and the version of its taskstats struct.

What is here:   the gap that a metric must have on a kernel, and why, or that it must have values; what no guest here can show.
What is not:    what a capture holds (captured.py), what the workload moves (moved.py).
"""

import csv
import os
import re

from image import HERE

METRICS = os.path.join(HERE, "..", "..", "plugins", "vocabulary", "metrics.tsv")

# No kernel of Debian is configured for these. tests/parity/constructed_test.py and the fixtures that it makes stand for them.
CONSTRUCTED_GATES = ("CONFIG_SCHED_CORE", "CONFIG_IRQ_TIME_ACCOUNTING")

SCX_GATE = "CONFIG_SCHED_CLASS_EXT"

# Zero by the kernel's own definition: of the whole system it does not say that all tasks wait for a CPU.
# And what such a guest has none of: it is no host of guests itself, nobody steals from it in a way that it is told of, its kernel does not
# account for interrupts by time, and that a thread waits for a disk or a CPU at the very instant of a capture is luck; of one that runs, the
# time since the run queue's clock was last set is none.
ALWAYS_ZERO = tuple(f"host.psi.cpu.full.{part}" for part in ("avg10", "avg60", "avg300", "total_usec")) + (
    "host.cpu.irq_ns", "host.cpu.steal_ns", "host.cpu.guest_ns", "host.cpu.guest_nice_ns", "host.cpu.irq_apart",
    "host.cpu.steal_apart", "host.procs_blocked", "run_in_progress_ns", "wait_in_progress_ns")

# Tried, and not provoked, with what was tried.
NOT_PROVOKED = {}


def vocabulary():
    """Rows of metrics.tsv that a plugin fills and the file keeps."""
    with open(METRICS, encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [row for row in rows if row["kind"] == "primary" and row["file_path"] != "none"]


def gates_of(metric):
    gates = [gate for gate in metric["config_gates"].split(",") if gate]
    if metric["name"].startswith("irq_delay"):
        gates.append("CONFIG_IRQ_TIME_ACCOUNTING")
    if metric["name"].endswith("_apart"):  # a guest has no /boot to read the configuration from
        gates.append("CONFIG_IKCONFIG_PROC")
    return gates


def is_constructed(metric):
    return any(gate in CONSTRUCTED_GATES for gate in gates_of(metric))


def why_not(metric, kernel, taskstats_version):
    """(gap, reason), or None where the kernel has it."""
    if metric["applies_to"] == "never":
        return "NotApplicable", "no kernel has the line"
    lacking = [gate for gate in gates_of(metric) if not kernel.has(gate)]
    if lacking:
        return "Unsupported", f"no {lacking[0]}"
    of_struct = re.match(r"taskstats v(\d+)", metric["since"])
    if of_struct and int(of_struct[1]) > taskstats_version:
        return "Unsupported", f"taskstats is v{taskstats_version}, it came with v{of_struct[1]}"
    since = re.match(r"(\d+)\.(\d+)", metric["since"])
    if since and (int(since[1]), int(since[2])) > kernel.number:
        return "Unsupported", f"since Linux {since[0]}"
    if metric["applies_to"] == "scx-loaded":
        return "NotApplicable", "no BPF scheduler is loaded"
    return None
