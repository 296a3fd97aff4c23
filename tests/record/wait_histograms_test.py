#!/usr/bin/python3
"""Compares the histograms of off-cpu with all waits and time slices that perf writes for the same threads, from their start to their exit.

Each time may be in a neighbouring bucket, because both take the time of an event themselves. Environment: CTPROF, WAITS."""

import bisect
import collections
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
import offcpu_file  # noqa: E402
from recording import harness  # noqa: E402

WAITS = os.environ["WAITS"]
BUFFER = "64M"  # for each CPU
METRICS = {"blocked": "blocked_wait_histogram_ns", "queued": "cpu_wait_histogram_ns", "running": "time_slice_histogram_ns"}
TOLERATED = 2  # times of a thread
# A time slice contains the work of perf at the tracepoints, and ends when the kernel stops accounting for it: the time of either program is uncertain.
UNCERTAIN_NS = {"running": 10_000}
TOLERATED_SHARE = 0.005  # if the kernel hides threads: events on their CPUs are not observed, and off-cpu reconstructs them
FIRST, LAST = 18, 81  # the buckets that off-cpu keeps
LINE = re.compile(r"\s*(\d+)\.(\d{9}): +sched:(sched_\w+): (.*)")
SWITCH = re.compile(r".* prev_pid=(\d+) .* prev_state=(\w\+?) .*next_pid=(\d+) .*")
WAKEUP = re.compile(r".*\bpid=(\d+) .*")


def smallest(bucket):
    return (2 + (bucket & 1)) << (bucket // 2 - 1)


LIMITS = [smallest(bucket) for bucket in range(FIRST + 1, LAST + 1)]


def bucket_of(length):
    return FIRST + bisect.bisect_right(LIMITS, length)


class TracedThread:
    """The times of one thread in each state, from its events."""

    def __init__(self):
        self.state, self.since = None, 0
        self.times = {state: [] for state in METRICS}

    def enter(self, state, at):
        if self.state:
            self.times[self.state].append(at - self.since)
        self.state, self.since = state, at

    def wake_up(self, at):
        if self.state in (None, "blocked"):
            self.enter("queued", at)

    def leave(self, why, at):
        self.enter(None if why[0] in "XZ" else "queued" if why[0] == "R" else "blocked", at)


def read_events(data, tids):
    """Returns the threads with these ids."""
    shown = subprocess.run(["perf", "script", "-i", str(data), "--ns", "-F", "time,event,trace"], capture_output=True, text=True, timeout=300, check=True)
    assert not re.search(r"(?i)\blost\b", shown.stderr), shown.stderr
    threads = {tid: TracedThread() for tid in tids}
    for line in filter(None, map(LINE.fullmatch, shown.stdout.splitlines())):
        at = int(line[1]) * 10**9 + int(line[2])
        if line[3] == "sched_switch":
            left, why, arrived = SWITCH.fullmatch(line[4]).groups()
            if int(left) in threads:
                threads[int(left)].leave(why, at)
            if int(arrived) in threads:
                threads[int(arrived)].enter("running", at)
        elif (tid := int(WAKEUP.fullmatch(line[4])[1])) in threads:
            threads[tid].wake_up(at)
    return threads


def running_sums(counts):
    """Returns the number of times in each bucket and all before it."""
    sums, total = [], 0
    for bucket in range(LAST + 2):
        total += counts.get(bucket, 0)
        sums.append(total)
    return sums


@measurement.run_twice_at_most
class WaitHistograms(unittest.TestCase):
    def setUp(self):
        if os.geteuid() != 0 or not shutil.which("perf"):
            self.skipTest("needs perf, and permission to trace")
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.here = pathlib.Path(scratch.name)

    def record_with_both(self, *program):
        data = self.here / "perf.data"
        finished, threads = offcpu_file.record_with_perf(self, self.here, ("--metrics", ",".join(METRICS.values())), program, BUFFER)
        self.hides_threads = "this kernel hides" in finished.stderr
        return threads, read_events(data, {thread.tid for thread in threads})

    def assert_within_one_bucket(self, ours, shortest, longest, message):
        """`shortest`, `longest`: the buckets of perf's times, without and with the time that is uncertain."""
        total = sum(shortest.values())
        tolerated = max(TOLERATED, TOLERATED_SHARE * total) if self.hides_threads else TOLERATED
        self.assertAlmostEqual(sum(ours.values()), total, delta=tolerated, msg=message)
        our_sums, short_sums, long_sums = running_sums(ours), running_sums(shortest), running_sums(longest)
        for bucket in range(1, LAST + 2):
            self.assertLessEqual(our_sums[bucket - 1], short_sums[bucket] + tolerated, f"{message}, bucket {bucket}: too short")
            self.assertLessEqual(long_sums[bucket - 1], our_sums[bucket] + tolerated, f"{message}, bucket {bucket}: too long")

    def compare(self, *program):
        threads, traced = self.record_with_both(*program)
        for state, metric in METRICS.items():
            times, moved = 0, 0
            for thread in threads:
                ours = {bucket: count for bucket, count in enumerate(thread.cells[metric]) if count}
                lengths = traced[thread.tid].times[state]
                uncertain = UNCERTAIN_NS.get(state, 0)
                theirs, shortest, longest = (collections.Counter(bucket_of(max(length + added, 0)) for length in lengths) for added in (0, -uncertain, uncertain))
                self.assert_within_one_bucket(ours, shortest, longest, f"{metric} of {thread.tid}: {ours}, perf: {theirs}")
                times += len(lengths)
                moved += sum(abs(ours.get(bucket, 0) - theirs[bucket]) for bucket in {*ours, *theirs}) / 2
            print(f"{' '.join(program[1:])}: {metric}: {times} times of {len(threads)} threads, {100 * moved / max(times, 1):.2f} % in a neighbouring bucket")
            self.assertGreater(times, 100)

    def test_few_threads_that_sometimes_wait_for_a_cpu(self):
        self.compare(WAITS, "turns", "2", "16")

    def test_many_threads_that_often_wait_for_a_cpu(self):
        self.compare(WAITS, "turns", "2", "60")


class RequestedHistograms(unittest.TestCase):
    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("needs permission to load BPF programs")
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.file = pathlib.Path(scratch.name) / ("it" + recording.SUFFIX)

    def record(self, *words):
        """Returns the finished process, and the names of the histograms in the file."""
        finished = recording.run("--recorders", "off-cpu", "-o", self.file, "--force", *words, "--", WAITS, "turns", "1", "4")
        if finished.returncode == 0:
            names = {name for thread in offcpu_file.OffCpuFile(self.file).threads for name in thread.cells}
            return finished, names & set(METRICS.values())
        return finished, set()

    def test_only_requested_histograms_are_recorded(self):
        finished, histograms = self.record()
        self.assertEqual(histograms, set(), finished.stderr)
        self.assertRegex(harness.run("show", str(self.file)).stdout, "not recorded, because expensive to read: .*cpu_wait_histogram_ns")
        self.assertNotIn("p99wait", harness.run("show", str(self.file), "--no-pager").stdout)
        finished, histograms = self.record("--metrics", "cpu_wait_histogram_ns,run_time_ns")
        self.assertEqual(histograms, {"cpu_wait_histogram_ns"}, finished.stderr)
        self.assertIn("p99wait", harness.run("show", str(self.file)).stdout)

    def test_histograms_require_their_recorder(self):
        finished = recording.run("-o", self.file, "-d", "1s", "--metrics", "cpu_wait_histogram_ns")
        self.assertEqual(finished.returncode, 2, finished.stderr)
        self.assertIn("metric 'cpu_wait_histogram_ns' is filled by a recorder: add --recorders off-cpu", finished.stderr)


if __name__ == "__main__":
    unittest.main()
