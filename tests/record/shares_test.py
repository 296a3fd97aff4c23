#!/usr/bin/python3
"""CPU time of functions: a program with known shares, and the results of perf for the same program.

Environment: CTPROF; SHARES, the program; SHARES_LIBRARY, a library that it opens and closes."""

import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import recording  # noqa: E402
import measurement  # noqa: E402
from recording import harness, run  # noqa: E402

SHARES = os.environ["SHARES"]
FUNCTIONS = ("seventy", "twenty", "ten", "around")
INLINED = ("seventy", "twenty", "ten", "inlined")
FREQUENCY = 999
PLANNED_POINTS = 1  # the difference between shares and plan: other work of the program, and its granularity


def stacks_of(*words):
    finished = harness.run(*words, "--sections", "stacks", "--format", "json", "--limit", "0")
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)["stacks"]


def functions_of(stacks, group):
    """Returns a map function -> self weights, one for each side, in the order of the report."""
    names = [function["name"] for function in stacks["functions"]]
    found = next(one for one in stacks["groups"] if one["group"] == group)
    return {names[row["function"]]: row["self"] for row in found["functions"]}


def samples_in(weights):
    """Returns the number of samples that weights in nanoseconds represent."""
    return sum(weights.values()) * FREQUENCY / 1e9


def convert_to_points(weights):
    whole = sum(weights.values())
    return {name: 100 * weight / whole for name, weight in weights.items()}


@measurement.run_twice_at_most
class Shares(unittest.TestCase):
    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("needs permission to sample")
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.here = pathlib.Path(scratch.name)

    def record_program(self, name, *command):
        path = self.here / (name + recording.SUFFIX)
        finished = run("-q", "--recorders", "on-cpu", "--freq", str(FREQUENCY), "--metrics", "run_time_ns", "-o", path, "--", *command)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return path

    def assert_near(self, found, expected, samples, profilers=1):
        """Compares shares in percentage points. Each profiler estimated them from `samples` samples."""
        for name, points in expected.items():
            error = 100 * measurement.sampling_error(samples, points / 100) * math.sqrt(profilers)
            measurement.check(self, f"points of {name}", found.get(name, 0), points, PLANNED_POINTS + error)

    def test_a_closed_library_an_exited_thread_and_an_inlined_function(self):
        shares = (49, 14, 7, 5)
        path = self.record_program("shares", SHARES, 10, *shares)
        for names in FUNCTIONS, INLINED:
            found = functions_of(stacks_of("show", path), "shares")
            weights = {name: found.get(name, [0])[0] for name in names}
            self.assert_near(convert_to_points(weights), convert_to_points(dict(zip(names, shares))), samples_in(weights))
            self.assertEqual("inlined" in found, names is INLINED)
            finished = harness.run("symbolize", "-q", "--no-sync", "--inlines", path)
            self.assertEqual(finished.returncode, 0, finished.stderr)

    @unittest.skipUnless(shutil.which("perf"), "needs perf")
    def test_perf_has_the_same_shares(self):
        data = str(self.here / "perf.data")
        path = self.record_program("perf", "perf", "record", "-q", "-e", "cpu-clock", "-F", "999", "-o", data, SHARES, 5, 50, 20, 10)
        report = subprocess.run(["perf", "report", "-i", data, "--stdio", "--comm", "shares", "--sort", "symbol", "-g", "none"],
                                check=True, capture_output=True, text=True).stdout
        theirs = {name: float(points) for points, name in re.findall(r"^\s*([\d.]+)%\s+\[[.k]\] (\S+)", report, re.MULTILINE)}
        weights = {name: weights[0] for name, weights in functions_of(stacks_of("show", path), "shares").items()}
        whole = sum(theirs.values())
        theirs = {name: 100 * points / whole for name, points in theirs.items() if 100 * points / whole > 2}
        self.assertGreater(len(theirs), 2, report)
        self.assert_near(convert_to_points(weights), theirs, samples_in(weights), profilers=2)

    def test_slower_function_is_first(self):
        paths = [self.record_program(f"side{ms}", SHARES, 4, ms, 20, 10) for ms in (20, 26)]
        stacks = stacks_of("compare", *paths)
        first = stacks["groups"][0]
        self.assertEqual(first["group"], "shares")
        name = stacks["functions"][first["functions"][0]["function"]]["name"]
        before, after = first["functions"][0]["self"]
        self.assertEqual(name, "seventy")
        error = measurement.STANDARD_ERRORS * math.sqrt(sum(1 / samples_in({name: ns}) for ns in (before, after)))
        measurement.check(self, "growth of the function", after / before, 1.3, 1.3 * (error + PLANNED_POINTS / 100))


if __name__ == "__main__":
    unittest.main()
