"""The expected result of each hunt: the first finding names culprit and cause, and the first row is the culprit or its victim. For recorded
windows (recorded_test.py) and new ones (programs_test.py)."""

import os
import pathlib
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
import harness  # noqa: E402  pylint: disable=wrong-import-position

# By kind: the culprit, and a part of the first finding when the window is shown and when it is
# compared. None: a single window does not show the problem.
HUNTS = {
    "neighbour": ("h-burner", " for a CPU in ", "cpu_affinity "),
    "convoy": ("h-convoy", None, "; only stacks show whether for a lock"),
    "locks": ("h-convoy", None, " that waited for a lock for "),
    "leaker": ("h-leaker", " more than when the window opened", " more than in the first window"),
    "grower": ("h-grower", "grew by ", "grew by "),
    "workers": ("h-workers", None, "cpu_affinity "),
    "forker": ("h-forker", "started ", "started "),
    "poller": ("h-poller", None, "ran for "),
    "zombies": ("h-zombies", " zombies: ", " zombies: "),
    "stuck": ("h-stuck", " in state D ", " in state D "),
    "tail": ("h-tail", " has a thread (h-tail, ", " has a thread (h-tail, "),
    "demoted": ("h-demoted", " for a CPU in ", "policy SCHED_OTHER → SCHED_IDLE"),
    "niced": ("h-niced", " for a CPU in ", "nice 0 → 19"),
    "realtime": ("h-realtime", " for a CPU in ", "policy SCHED_OTHER → SCHED_FIFO"),
    "yielder": ("h-yielder", "sched_yield", "sched_yield"),
    "timer": ("h-timer", None, " times per second"),
    "herd": ("h-herd", " times per second", " times per second"),
    "crowd": ("h-crowd", " for a CPU in ", " for a CPU in "),
    "imbalance": ("h-imbalance", None, " has a thread (h-imbalance, "),
    "hang": ("h-hang", None, "ran for 0.0 s"),
    "churn": ("h-churn", "started ", "started "),
    "spawner": ("h-task", "started ", "started "),
    "faulter": ("h-faulter", " page faults per second", " page faults per second"),
    "mapper": ("h-mapper", "major page faults", "major page faults"),
    "heap": ("h-heap", "grew by ", "grew by "),
    "reclaim": ("h-reclaim", "major page faults", "major page faults"),
    "scanner": ("h-scanner", " per second (read/s)", " per second (read/s)"),
    "bulk": ("h-bulk", " per second (write/s)", " per second (write/s)"),
    "logger": ("h-logger", "was blocked for ", "was blocked for "),
    "holder": ("h-holder", " that waited for a lock for ", " that waited for a lock for "),
    "deadlock": ("h-deadlock", " that waited for a lock for ", " that waited for a lock for "),
    "flock": ("h-flock", " had file locks ", " had file locks "),
    "pipeline": ("h-consumer", None, "ran for "),
    "sockets": ("h-sockets", None, "ran for "),
    "throttled": ("/hunt", "was throttled for ", "was throttled for "),
}

VICTIMS = {"neighbour": "h-server", "demoted": "h-rival", "niced": "h-rival", "realtime": "h-rival", "bulk": "h-lookups", "spawner": "h-spawner",
           "flock": "h-lockers", "throttled": "h-server"}  # or the process that replaced the culprit

# Kinds whose expected finding is not the first one in the recorded windows.
MISSES = set()


class Screen:
    """The printed report on one or two windows: the findings with their commands, and the first row."""

    def __init__(self, *words, cwd):
        finished = subprocess.run([harness.CTPROF, *words], cwd=cwd, capture_output=True, text=True, check=True, env=os.environ | {"COLUMNS": "400"})
        self.text = finished.stdout
        lines = self.text.splitlines()
        self.findings, self.steps = [], []  # steps: pairs of a finding and its command
        for line in lines:
            if found := re.fullmatch(r"[1-5] (.*)", line):
                self.findings.append(found[1])
            elif line.startswith("    ctprof "):
                self.steps.append((self.findings[-1], line.strip()))
        header = next((at for at, line in enumerate(lines) if line.startswith("process  ")), None)
        self.first_row = lines[header + 1].split()[0] if header else None


def screens(kind, directory):
    """Returns the screens of a kind's second window and of its comparison with the first."""
    before, after = (f"{kind}.{which}.ctprof.zst" for which in ("before", "after"))
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda words: Screen(*words, cwd=directory), (["show", after], ["compare", before, after])))


def names_culprit_and_cause(kind, screen, cause):
    """Returns whether the first finding is about the culprit or its victim, and contains the culprit and the cause."""
    culprit = HUNTS[kind][0]
    first = screen.findings[0] if screen.findings else ""
    return first.split(" ")[0] in (culprit, VICTIMS.get(kind)) and culprit in first and cause in first
