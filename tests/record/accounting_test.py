#!/usr/bin/python3
"""The times of a window add up: run, wait and blocked time of threads that measure themselves, and the CPU time of the host.

The build passes KNOWN_THREADS, a program that measures how long its threads run and wait (known_threads.c).
"""

import bisect
import json
import os
import sys
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "parity"))
import harness
import recording
import measurement
from json_schema import Validator

TIMES = ["run_time_ns", "wait_time_ns", "blocked_time_ns"]
NAMES = ["k-busy", "k-rhythm", "k-blocked", "k-starver", "k-burner"]
WITHOUT_BPF = "procfs-sched,taskstats"


def record(path, *words, seconds=3):
    finished = harness.run("record", "-d", f"{seconds}s", "-o", path, *words)
    if finished.returncode != 0:
        raise AssertionError(finished.stderr)


def read_shown(path, *words):
    finished = harness.run("show", path, "--format", "json", *words)
    if finished.returncode != 0:
        raise AssertionError(finished.stderr)
    return json.loads(finished.stdout)


def read_lines(path):
    return recording.read_lines(path)


def read_times(path):
    """Returns a map tid -> the times of its two reads, on CLOCK_BOOTTIME."""
    lines = read_lines(path)
    opened = next(line for line in lines if line["kind"] == "window")["opened"]["monotonic_ns"]
    found = {}
    for line in lines:
        if line["kind"] == "table" and line["entity"] == "thread":
            for row, tid in enumerate(line["columns"]["tid"]):
                found[tid] = tuple(opened + at for at in line["seen"][row])
    return found


def times_of(path, pid):
    """Returns a map from the name of a thread to its three times; None is an unknown time."""
    rows = read_shown(path, "--group-by", "comm-exact", "--where", f"tgid == {pid}", "--metrics", ",".join(TIMES))["rows"]
    found = {name: {} for name in NAMES}
    for row in rows:
        if row["group"] in found:
            found[row["group"]][row["metric"]] = row["value"]
    return {name: tuple(times.get(metric) for metric in TIMES) for name, times in found.items()}


class Measurements:
    """The measurements of a thread, with their times."""

    def __init__(self):
        self.at, self.run, self.wait = [], [], []

    def add(self, at, run, wait):
        self.at.append(at), self.run.append(run), self.wait.append(wait)

    def gap(self, at):
        """Returns the distance of the two measurements around `at`: the maximum error of the thread's values."""
        i = min(max(bisect.bisect_right(self.at, at), 1), len(self.at) - 1)
        return self.at[i] - self.at[i - 1]

    def value(self, figures, at):
        """Interpolates linearly between two measurements."""
        i = min(max(bisect.bisect_right(self.at, at), 1), len(self.at) - 1)
        share = (at - self.at[i - 1]) / (self.at[i] - self.at[i - 1])
        return figures[i - 1] + share * (figures[i] - figures[i - 1])

    def between(self, first, last):
        run = self.value(self.run, last) - self.value(self.run, first)
        wait = self.value(self.wait, last) - self.value(self.wait, first)
        return run, wait, last - first - run - wait


def parse_measurements(text):
    """Returns a map (name, tid) -> Measurements."""
    found = {}
    for line in text.splitlines():
        name, tid, *figures = line.split()
        found.setdefault((name, int(tid)), Measurements()).add(*map(int, figures))
    return found


@measurement.run_twice_at_most
class TimeAccounting(unittest.TestCase):
    def setUp(self):
        self.directory = harness.scratch()
        self.addCleanup(self.directory.cleanup)
        self.path = os.path.join(self.directory.name, "run.ctprof.zst")

    def record_known_threads(self, *words):
        with harness.Helper("KNOWN_THREADS", "threads") as helper, measurement.Delays() as self.delays:
            record(self.path, *words)
            pid = helper.pid
            return times_of(self.path, pid), parse_measurements(helper.finish())

    def assert_near(self, reported, measured, moments, name):
        """Compares the values of ctprof and of the thread. They are read at different times: the thread measures around each end, ctprof is subject to
        the host's delays."""
        first, last = moments
        allowed = 0.001 * (last - first) + measured.gap(first) + measured.gap(last) + 1e9 * self.delays.longest
        for metric, figure, own in zip(TIMES, reported, measured.between(first, last)):
            measurement.check(self, f"{name} {metric}", figure, own, allowed)

    def assert_known(self, reported, own_measurements):
        """Checks every known value against the thread's own measurement. Returns the number of threads with known values."""
        known = 0
        moments = read_times(self.path)
        for (name, tid), measured in own_measurements.items():
            if None in reported[name]:
                continue
            known += 1
            first, last = moments[tid]
            if reported[name][2] > 0:  # otherwise run and wait time exceed the wall time, and the rest is 0
                self.assertEqual(sum(reported[name]), last - first, name)
            self.assert_near(reported[name], measured, (first, last), name)
        return known

    def assert_one_state(self, reported, which, name):
        """Checks that the thread was in one state all the time."""
        if None not in reported[name]:
            self.assertGreater(reported[name][which], 0.97 * sum(reported[name]), f"{name}: {reported[name]}")

    def test_with_all_plugins(self):
        reported, own_measurements = self.record_known_threads()
        if read_shown(self.path)["snapshot"]["window"]["no_base"]["in_progress"]:
            self.skipTest("needs a BPF program that reads threads")
        self.assertEqual(self.assert_known(reported, own_measurements), 2)
        for name in NAMES:
            self.assertNotIn(None, reported[name], name)
        self.assert_one_state(reported, 1, "k-starver")
        self.assert_one_state(reported, 2, "k-blocked")

    def test_without_bpf(self):
        reported, own_measurements = self.record_known_threads("--plugins", WITHOUT_BPF)
        self.assert_known(reported, own_measurements)
        self.assertNotIn(None, reported["k-blocked"])
        self.assert_one_state(reported, 2, "k-blocked")
        self.assert_one_state(reported, 1, "k-starver")
        unknown = [name for name in NAMES if None in reported[name]]
        self.assertIn("k-starver", unknown)  # runnable at both ends of the window
        no_base = read_shown(self.path)["snapshot"]["window"]["no_base"]
        self.assertGreaterEqual(no_base["in_progress"], len(unknown))

    def test_the_share_of_blocked_time(self):
        self.record_known_threads()
        report = read_shown(self.path, "--group-by", "comm-exact", "--metrics", "blocked_share", "--where", 'group == "k-blocked"')
        values = [row["value"] for row in report["rows"]]
        self.assertEqual(len(values), 1)
        self.assertGreater(values[0], 0.99)


@measurement.run_twice_at_most
class Accounting(unittest.TestCase):
    def setUp(self):
        self.directory = harness.scratch()
        self.addCleanup(self.directory.cleanup)
        self.path = os.path.join(self.directory.name, "run.ctprof.zst")

    def window(self):
        record(self.path)
        return read_shown(self.path, "--limit", "1")["snapshot"]["window"]

    def assert_accounted(self, window):
        cpu = window["accounting"]
        self.assertIsNotNone(cpu)
        self.assertEqual(round(cpu["busy_ns"] - cpu["living_ns"] - cpu["ended_ns"] - cpu["unexplained_ns"], -2), 0)
        tick = 1e9 / os.sysconf("SC_CLK_TCK")
        allowed = max(0.03 * cpu["busy_ns"], cpu["cpus"] * cpu["wall_ns"] / 1e9 * tick)
        measurement.check(self, "unaccounted CPU time", cpu["unexplained_ns"], 0, allowed)
        self.assertEqual(cpu["cpus"], os.sysconf("SC_NPROCESSORS_ONLN"))

    def test_under_a_burner(self):
        with harness.Helper("KNOWN_THREADS", "threads"):
            window = self.window()
        self.assert_accounted(window)
        cpu = window["accounting"]
        self.assertGreater(cpu["living_ns"] + cpu["ended_ns"], 0.9 * cpu["wall_ns"])  # two threads are always runnable

    @unittest.skipIf(harness.is_sanitized(), "a sanitizer makes the two reads of the host too slow")
    def test_under_a_storm_of_forks(self):
        with harness.Helper("KNOWN_THREADS", "storm"):
            window = self.window()
        if not window["sees_ends"]:
            self.skipTest("needs a source of exited threads")
        self.assertGreater(window["ended"], 100)
        self.assertGreater(window["accounting"]["ended_ns"], 0)
        self.assert_accounted(window)

    def test_the_json_of_a_window_matches_its_schema(self):
        record(self.path, seconds=1)
        schema = Validator(json.loads(harness.run("show", "--json-schema").stdout))
        self.assertEqual(schema.problems(read_shown(self.path)), [])


if __name__ == "__main__":
    unittest.main()
