"""Running programs and taking their time: alternately, with medians, in a table.

What is here: one run, many in turns, figures as text.
What is not: which programs, and what their figures mean (captures.py, files.py).
"""

import json
import os
import statistics
import subprocess
import time


class Run:
    """One finished run of a program: wall time, peak memory, and the JSON object it printed, if any."""

    def __init__(self, wall_ns, peak_bytes, output):
        self.wall_ns = wall_ns
        self.peak_bytes = peak_bytes
        self.output = output

    def json(self):
        return json.loads(self.output)


def run(argv, keep_output=True):
    start = time.monotonic_ns()
    child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE if keep_output else subprocess.DEVNULL)
    output = child.stdout.read() if keep_output else b""
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.monotonic_ns() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.stdout:
        child.stdout.close()
    if child.returncode != 0:
        raise SystemExit(f"bench: {' '.join(map(str, argv))}: exit status {child.returncode}")
    return Run(wall, usage.ru_maxrss * 1024, output)


def alternate(repeat, deeds):
    """Does all `deeds` (name: function that returns a dict of figures) in turn, `repeat` times after one unmeasured round.

    Returns {name: {figure: median}}.
    """
    rounds = [{name: deed() for name, deed in deeds.items()} for _ in range(repeat + 1)][1:]
    return {name: {figure: statistics.median(r[name][figure] for r in rounds) for figure in rounds[0][name]} for name in deeds}


def ms(ns):
    return f"{ns / 1e6:.1f} ms"


def ratio(ns, floor_ns):
    return f"{ns / floor_ns:.2f}"


def mib(size):
    return f"{size / 2**20:.0f} MiB"


def show(title, rows):
    """Prints rows of texts, the first column to the left and the others to the right."""
    print(f"\n{title}")
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  " + "   ".join(cells).rstrip(), flush=True)
