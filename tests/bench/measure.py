"""Running programs and taking their time: alternately, with medians, in a table.

What is here: one run, many in turns, figures as text.
What is not: which programs, and what their figures mean (captures.py, files.py).
"""

import json
import os
import statistics
import subprocess
import tempfile
import time


class Run:
    """One finished run of a program: wall and CPU time, peak memory, and the JSON object it printed, if any."""

    def __init__(self, wall_ns, cpu_ns, peak_bytes, output):
        self.wall_ns = wall_ns
        self.cpu_ns = cpu_ns
        self.peak_bytes = peak_bytes
        self.output = output

    def json(self):
        return json.loads(self.output)


def run(argv, keep_output=True, given=b""):
    """Runs a program to its end, with `given` as its input. What it says on standard error is shown only when it fails, which ends the bench."""
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as stdin:
        stdin.write(given)
        stdin.seek(0)
        start = time.monotonic_ns()
        output = subprocess.PIPE if keep_output else subprocess.DEVNULL
        child = subprocess.Popen(argv, stdin=stdin, stdout=output, stderr=errors)
        output = child.stdout.read() if keep_output else b""
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.monotonic_ns() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.stdout:
            child.stdout.close()
        if child.returncode != 0:
            errors.seek(0)
            said = errors.read().decode(errors="replace")
            raise SystemExit(f"bench: {' '.join(map(str, argv))}: exit status {child.returncode}\n{said}")
    return Run(wall, round((usage.ru_utime + usage.ru_stime) * 1e9), usage.ru_maxrss * 1024, output)


def alternate(repeat, deeds):
    """Does all `deeds` (name: function that returns a dict of figures) in turn, `repeat` times after one unmeasured round.

    Returns {name: {figure: its median, figure + " min": its least}}.
    """
    rounds = [{name: deed() for name, deed in deeds.items()} for _ in range(repeat + 1)][1:]
    figures = {name: {} for name in deeds}
    for name, kept in figures.items():
        for figure in rounds[0][name]:
            readings = [turn[name][figure] for turn in rounds]
            kept[figure], kept[f"{figure} min"] = statistics.median(readings), min(readings)
    return figures


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
