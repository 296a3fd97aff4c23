#!/usr/bin/python3
"""Causes a change between two captures, and finds it only from the output of compare: which metric changed most, in which thread pool and
cgroup, and whether the threads were new or old.

Two processes of the same name run in two cgroups, each with two thread pools. Between two captures one pool of one process spins or wakes
more often, in its old threads, in new ones, or in both. All threads have run before, and the other process also runs a little, so that the
change has to be found among others. One test searches the whole host.
"""

import contextlib
import json
import os
import subprocess
import unittest
from collections import namedtuple

import harness
from cgroups_test import cgroup, join, may_make_cgroups

Answer = namedtuple("Answer", "metric cgroup process pool origin")

SPIN_MS, WAKES = 400, 20000
# Other metrics are noise: for example, how often threads migrate depends on the host.
METRICS = ("--metrics", "run_time_ns,voluntary_csw,minflt,write_bytes")


# ---- the search: uses only the JSON of compare --group-by all --rate


def counts_up(row):
    """Returns whether the metric is a counter. Only counters have a rate."""
    return row["rate"] is not None


def origin(row):
    """Returns which threads made most of the difference, or "both" if each made at least a tenth."""
    alive, new = abs(row["delta_alive"]), abs(row["delta_new"])
    if min(alive, new) * 10 >= alive + new:
        return "both"
    return "old threads" if alive > new else "new threads"


def answer(report):
    """Returns the first counter. Rows are ordered by the size of their change."""
    row = next(row for row in report["rows"] if isinstance(row["group"], list) and counts_up(row))
    return Answer(row["metric"], *row["group"], origin(row))


# ---- the processes


class Process:
    """A process of pools.c in a cgroup, which executes commands."""

    def __init__(self, name, directory):
        self.process = subprocess.Popen([os.environ["POOLS"], name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        preexec_fn=lambda: join(directory))
        assert self.process.stdout.readline() == "ready\n"

    def execute(self, *lines):
        for line in lines:
            print(line, file=self.process.stdin, flush=True)
            assert self.process.stdout.readline() == "done\n", line

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


class StagedChange(unittest.TestCase):
    longMessage = False

    def setUp(self):
        if not may_make_cgroups():
            self.skipTest("needs root, and a cgroup v2 hierarchy in which cgroups can be created")
        cleanup = contextlib.ExitStack()
        self.addCleanup(cleanup.close)
        scratch = cleanup.enter_context(harness.scratch())
        self.files = [os.path.join(scratch, f"{side}.ctprof.zst") for side in "ab"]
        self.top = cleanup.enter_context(cgroup())
        self.name = "/" + os.path.basename(self.top).decode()
        self.processes = {}
        for part in ("web", "db"):
            os.mkdir(self.top + b"/" + part.encode())
            self.processes[part] = Process("srv", self.top + b"/" + part.encode())
            cleanup.callback(self.processes[part].end)
            for pool in ("io", "cpu"):
                self.processes[part].execute(f"spin {pool} {SPIN_MS // 4}", f"wake {pool} {WAKES // 10}")

    def compare_files(self, *words):
        finished = harness.run("compare", "--lifetime", *self.files, "--group-by", "all", "--rate", "--format", "json", *words)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return json.loads(finished.stdout)

    def make_change(self, part, *lines):
        """Captures before and after one process works a lot and the other a little."""
        other = next(process for name, process in self.processes.items() if name != part)
        harness.capture(self.files[0])
        self.processes[part].execute(*lines)
        other.execute(f"spin io {SPIN_MS // 50}", f"wake cpu {WAKES // 50}")
        harness.capture(self.files[1])

    def assert_found(self, metric, part, pool, who):
        found = answer(self.compare_files(*METRICS, "--where", f'cgroup under "{self.name}"'))
        self.assertEqual(found, Answer(metric, f"{self.name}/{part}", "srv", pool + "-{N}", who))

    def test_old_threads_spin(self):
        self.make_change("db", f"spin cpu {SPIN_MS}")
        self.assert_found("run_time_ns", "db", "cpu", "old threads")

    def test_new_threads_spin(self):
        self.make_change("web", "grow cpu 3", f"only spin cpu {SPIN_MS}")
        self.assert_found("run_time_ns", "web", "cpu", "new threads")

    def test_both_spin(self):
        self.make_change("web", "grow io 4", f"spin io {SPIN_MS}")
        self.assert_found("run_time_ns", "web", "io", "both")

    def test_old_threads_wake(self):
        self.make_change("web", f"wake io {WAKES}")
        self.assert_found("voluntary_csw", "web", "io", "old threads")

    def test_new_threads_wake(self):
        self.make_change("db", "grow io 2", f"only wake io {WAKES}")
        self.assert_found("voluntary_csw", "db", "io", "new threads")

    def test_the_whole_host(self):
        """No other program on the host switches so often in so short a time."""
        self.make_change("db", "grow cpu 2", f"only wake cpu {WAKES * 10}")
        found = answer(self.compare_files("--metrics", "voluntary_csw", "--sort-by", "delta"))
        self.assertEqual(found, Answer("voluntary_csw", f"{self.name}/db", "srv", "cpu-{N}", "new threads"))


if __name__ == "__main__":
    harness.main()
