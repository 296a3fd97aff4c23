"""Runs programs and measures them: alternately, with medians, in a table.

See also: captures.py and files.py, which choose the programs and interpret the results.
"""

import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time


class Run:
    """A finished run of a program: wall and CPU time, peak memory, and its output (a JSON object, if any)."""

    def __init__(self, wall_ns, cpu_ns, peak_bytes, output):
        self.wall_ns = wall_ns
        self.cpu_ns = cpu_ns
        self.peak_bytes = peak_bytes
        self.output = output

    def json(self):
        return json.loads(self.output)


def run(argv, keep_output=True, input_bytes=b""):
    """Runs a program with `input_bytes` as its input. If it fails, prints its standard error and exits."""
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as stdin:
        stdin.write(input_bytes)
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
            message = errors.read().decode(errors="replace")
            raise SystemExit(f"bench: {' '.join(map(str, argv))}: exit status {child.returncode}\n{message}")
    return Run(wall, round((usage.ru_utime + usage.ru_stime) * 1e9), usage.ru_maxrss * 1024, output)


def alternate(repeat, actions):
    """Runs all `actions` (name: function that returns a dict of results) in turn, `repeat` times after one unmeasured round.

    Returns {name: {result: its median, result + " min": its minimum}}.
    """
    rounds = [{name: action() for name, action in actions.items()} for _ in range(repeat + 1)][1:]
    results = {name: {} for name in actions}
    for name, result in results.items():
        for key in rounds[0][name]:
            readings = [one_round[name][key] for one_round in rounds]
            result[key], result[f"{key} min"] = statistics.median(readings), min(readings)
    return results


def cpu_ns(pid):
    """Returns the CPU time of all threads of the process, from the scheduler's sum, which is not rounded to ticks."""
    return sum(int(path.read_text().split()[0]) for path in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"))


def ms(ns):
    return f"{ns / 1e6:.1f} ms"


def ratio(ns, floor_ns):
    return f"{ns / floor_ns:.2f}"


def mib(size):
    return f"{size / 2**20:.0f} MiB"


def show(title, rows):
    """Prints rows of texts, the first column aligned to the left and the others to the right."""
    print(f"\n{title}")
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  " + "   ".join(cells).rstrip(), flush=True)
