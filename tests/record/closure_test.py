#!/usr/bin/python3
"""Windows add up: run, wait and blocked time of threads that know their own, and the CPU time of the host.

The build passes KNOWS, a program that says of itself how long it ran and waited (knows.c).
"""

import bisect
import json
import os
import subprocess
import sys
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "parity"))
import harness
import measurement
from json_schema import Validator

TIMES = ["run_time_ns", "wait_time_ns", "blocked_time_ns"]
NAMES = ["k-busy", "k-rhythm", "k-blocked", "k-starver", "k-burner"]
WITHOUT_BPF = "procfs-sched,taskstats"


def record(path, *words, seconds=3):
    done = harness.run("record", "-d", f"{seconds}s", "-o", path, *words)
    if done.returncode != 0:
        raise AssertionError(done.stderr)


def shown(path, *words):
    done = harness.run("show", path, "--format", "json", *words)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def read_lines(path):
    text = subprocess.run(["zstd", "-dcq", path], check=True, capture_output=True).stdout
    return [json.loads(line) for line in text.splitlines()]


def seen(path):
    """tid -> the moments at which it was read, on CLOCK_BOOTTIME."""
    lines = read_lines(path)
    opened = next(line for line in lines if line["kind"] == "window")["opened"]["monotonic_ns"]
    found = {}
    for line in lines:
        if line["kind"] == "table" and line["entity"] == "thread":
            for row, tid in enumerate(line["columns"]["tid"]):
                found[tid] = tuple(opened + at for at in line["seen"][row])
    return found


def times_of(path, pid):
    """Name of a thread -> its three times; None where there is none."""
    rows = shown(path, "--group-by", "comm-exact", "--where", f"tgid == {pid}", "--metrics", ",".join(TIMES))["rows"]
    found = {name: {} for name in NAMES}
    for row in rows:
        if row["group"] in found:
            found[row["group"]][row["metric"]] = row["value"]
    return {name: tuple(times.get(metric) for metric in TIMES) for name, times in found.items()}


class Diary:
    """What a thread knew of itself, and when."""

    def __init__(self):
        self.at, self.run, self.wait = [], [], []

    def add(self, at, run, wait):
        self.at.append(at), self.run.append(run), self.wait.append(wait)

    def gap(self, at):
        """The time around this moment in which the thread did not look: its figures are off by no more than that."""
        i = min(max(bisect.bisect_right(self.at, at), 1), len(self.at) - 1)
        return self.at[i] - self.at[i - 1]

    def value(self, figures, at):
        """Between two moments, in proportion."""
        i = min(max(bisect.bisect_right(self.at, at), 1), len(self.at) - 1)
        share = (at - self.at[i - 1]) / (self.at[i] - self.at[i - 1])
        return figures[i - 1] + share * (figures[i] - figures[i - 1])

    def between(self, first, last):
        run = self.value(self.run, last) - self.value(self.run, first)
        wait = self.value(self.wait, last) - self.value(self.wait, first)
        return run, wait, last - first - run - wait


def diaries_in(text):
    """(name, tid) -> Diary."""
    found = {}
    for line in text.splitlines():
        name, tid, *figures = line.split()
        found.setdefault((name, int(tid)), Diary()).add(*map(int, figures))
    return found


@measurement.run_twice_at_most
class Closure(unittest.TestCase):
    def setUp(self):
        self.directory = harness.scratch()
        self.addCleanup(self.directory.cleanup)
        self.path = os.path.join(self.directory.name, "run.ctprof.zst")

    def window_of_known(self, *words):
        with harness.Helper("KNOWS", "threads") as helper, measurement.Delays() as self.delays:
            record(self.path, *words)
            pid = helper.pid
            return times_of(self.path, pid), diaries_in(helper.finish())

    def assert_near(self, told, diary, moments, name):
        """Both read one thread, each at a time of its own: the thread at the moments around each end, ctprof within the host's delays."""
        first, last = moments
        allowed = 0.001 * (last - first) + diary.gap(first) + diary.gap(last) + 1e9 * self.delays.longest
        for metric, figure, own in zip(TIMES, told, diary.between(first, last)):
            measurement.check(self, f"{name} {metric}", figure, own, allowed)

    def assert_known(self, told, diaries):
        """Every figure is near the thread's own; those that are unknown are NoBase. Returns the number of threads with known figures."""
        known = 0
        moments = seen(self.path)
        for (name, tid), diary in diaries.items():
            if None in told[name]:
                continue
            known += 1
            first, last = moments[tid]
            if told[name][2] > 0:  # else more was counted than went by, and nothing is left
                self.assertEqual(sum(told[name]), last - first, name)
            self.assert_near(told[name], diary, (first, last), name)
        return known

    def assert_lot(self, told, which, name):
        """The thread was in one state throughout."""
        if None not in told[name]:
            self.assertGreater(told[name][which], 0.97 * sum(told[name]), f"{name}: {told[name]}")

    def test_with_every_source(self):
        told, diaries = self.window_of_known()
        if shown(self.path)["snapshot"]["window"]["no_base"]["in_progress"]:
            self.skipTest("needs a BPF program that reads threads")
        self.assertEqual(self.assert_known(told, diaries), 2)
        for name in NAMES:
            self.assertNotIn(None, told[name], name)
        self.assert_lot(told, 1, "k-starver")
        self.assert_lot(told, 2, "k-blocked")

    def test_without_bpf(self):
        told, diaries = self.window_of_known("--plugins", WITHOUT_BPF)
        self.assert_known(told, diaries)
        self.assertNotIn(None, told["k-blocked"])
        self.assert_lot(told, 2, "k-blocked")
        self.assert_lot(told, 1, "k-starver")
        unknown = [name for name in NAMES if None in told[name]]
        self.assertIn("k-starver", unknown)  # it is runnable at both ends
        no_base = shown(self.path)["snapshot"]["window"]["no_base"]
        self.assertGreaterEqual(no_base["in_progress"], len(unknown))

    def test_starving_is_told_also_by_the_share(self):
        self.window_of_known()
        report = shown(self.path, "--group-by", "comm-exact", "--metrics", "blocked_share", "--where", 'group == "k-blocked"')
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
        return shown(self.path, "--limit", "1")["snapshot"]["window"]

    def assert_explained(self, window):
        cpu = window["accounting"]
        self.assertIsNotNone(cpu)
        self.assertEqual(round(cpu["busy_ns"] - cpu["living_ns"] - cpu["ended_ns"] - cpu["unexplained_ns"], -2), 0)
        tick = 1e9 / os.sysconf("SC_CLK_TCK")
        allowed = max(0.03 * cpu["busy_ns"], cpu["cpus"] * cpu["wall_ns"] / 1e9 * tick)
        measurement.check(self, "unaccounted CPU time", cpu["unexplained_ns"], 0, allowed)
        self.assertEqual(cpu["cpus"], os.sysconf("SC_NPROCESSORS_ONLN"))

    def test_under_a_burner(self):
        with harness.Helper("KNOWS", "threads"):
            window = self.window()
        self.assert_explained(window)
        cpu = window["accounting"]
        self.assertGreater(cpu["living_ns"] + cpu["ended_ns"], 0.9 * cpu["wall_ns"])  # two threads run whenever they may

    @unittest.skipIf(harness.is_sanitized(), "a sanitizer makes both readings of the host too slow to be of one moment")
    def test_under_a_storm_of_forks(self):
        with harness.Helper("KNOWS", "storm"):
            window = self.window()
        if not window["sees_ends"]:
            self.skipTest("nobody tells of threads that end")
        self.assertGreater(window["ended"], 100)
        self.assertGreater(window["accounting"]["ended_ns"], 0)
        self.assert_explained(window)

    def test_the_json_of_a_window_is_what_its_schema_says(self):
        record(self.path, seconds=1)
        schema = Validator(json.loads(harness.run("show", "--json-schema").stdout))
        self.assertEqual(schema.problems(shown(self.path)), [])


if __name__ == "__main__":
    unittest.main()
