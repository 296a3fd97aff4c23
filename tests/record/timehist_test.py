#!/usr/bin/python3
"""Compares off-cpu with `perf sched timehist` on the same switches and wake-ups: for each thread, from its start to its last switch, all time
off the CPU, and the time on the run queue after wake-ups.

For tools/dev soak: requires a perf that reads this kernel's events, and no lost events. Environment: CTPROF, WAITS."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from recording import harness  # noqa: E402
import measurement  # noqa: E402
import offcpu_file  # noqa: E402

WAITS = os.environ["WAITS"]
BUFFER = "128M"  # for each CPU
PERCENT = 0.01
HIDDEN = 2  # switches of a thread: on some kernels switches from hidden threads are not observed
# Time, CPU, name, [tid/pid] or [tid] of a leader; ms off the CPU, on the run queue after a wake-up, and running; state at the switch.
LINE = re.compile(r"\s*(\d+\.\d+) +\[\d+\] +.*?\[(\d+)(?:/\d+)?\] +(\d+\.\d+) +(\d+\.\d+) +\d+\.\d+ +(\w\+?)\s*")
SWITCH = re.compile(r"\s*(\d+\.\d+): +sched:sched_switch: .* prev_pid=(\d+) .* next_pid=(\d+) .*")
WAKEUP = re.compile(r"\s*(\d+\.\d+): +sched:sched_wakeup: .* pid=(\d+) .*")


def ns(text, unit):
    return round(float(text) * unit)


def whole_ns(ms):
    """Returns a time that was truncated to microseconds in ns, with the expected value of the truncated part."""
    return ns(ms, 1e6) + (500 if float(ms) > 0 else 0)


class TimehistThread:
    """The times of a thread from timehist, in ns. Unlike timehist they include the time from the start to the first switch. `unknown`: waits that
    include time on the run queue, but have no wake-up event."""

    def __init__(self):
        self.waited = self.delayed = self.unknown = self.turns = self.left = 0
        self.woken = None
        self.state = "R"

    def add(self, at, waited_ms, delayed_ms, state):
        if self.state != "R" and float(delayed_ms) == 0:
            self.unknown += whole_ns(waited_ms)
        self.state = state[0]
        self.waited += whole_ns(waited_ms if self.turns else delayed_ms)
        self.delayed += whole_ns(delayed_ms)
        self.turns += 1
        self.left = ns(at, 1e9)

    def add_arrival(self, at):
        self.waited += at - self.left
        self.delayed += at - self.woken if self.woken else 0

    def add_departure(self, at):
        self.turns += 1
        self.left, self.woken = at, None


def run(*words):
    return subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=300, check=False)


def threads_of_timehist(data):
    """Returns the threads of timehist by tid."""
    shown = run("perf", "sched", "timehist", "--state", "-i", data)
    assert not re.search(r"(?i)lost|out of order", shown.stderr), shown.stderr
    by_tid = {}
    for line in shown.stdout.splitlines():
        if found := LINE.fullmatch(line):
            by_tid.setdefault(int(found[2]), TimehistThread()).add(*found.group(1, 3, 4, 5))
    return by_tid


def add_last_turns(data, by_tid):
    """Adds the last switches of exiting threads from the events. Their samples have no thread id, so timehist omits them."""
    seen = {tid: thread.left for tid, thread in by_tid.items()}
    shown = run("perf", "script", "-i", data, "--ns", "-F", "time,event,trace", "--time", f"{min(seen.values()) / 1e9:.9f},")
    for line in shown.stdout.splitlines():
        if found := SWITCH.fullmatch(line):
            at, leaves, arrives = ns(found[1], 1e9), int(found[2]), int(found[3])
            if leaves in by_tid and at > seen[leaves] + 1000:  # timehist has a resolution of microseconds
                by_tid[leaves].add_departure(at)
            if arrives in by_tid and at > seen[arrives] + 1000:
                by_tid[arrives].add_arrival(at)
        elif (found := WAKEUP.fullmatch(line)) and int(found[2]) in by_tid:
            thread = by_tid[int(found[2])]
            thread.woken = ns(found[1], 1e9)


@measurement.run_twice_at_most
class Timehist(unittest.TestCase):
    def setUp(self):
        if os.geteuid() != 0 or not shutil.which("perf"):
            self.skipTest("needs perf, and permission to trace")
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.here = pathlib.Path(scratch.name)

    def record_with_both(self, *program):
        """Returns the program's threads, and the times of timehist by tid."""
        data = self.here / "perf.data"
        _, threads = offcpu_file.record_with_perf(self, self.here, (), program, BUFFER)
        every = threads_of_timehist(data)
        by_tid = {thread.tid: every[thread.tid] for thread in threads}
        add_last_turns(data, by_tid)
        return threads, by_tid

    def compare(self, *program):
        threads, by_tid = self.record_with_both(*program)
        for thread in threads:
            self.assertAlmostEqual(thread.offcpu_count, by_tid[thread.tid].turns, delta=HIDDEN, msg=thread.cells)
        self.check("wait", [(thread.offcpu_ns, by_tid[thread.tid].waited, 0) for thread in threads], program)
        self.check("run delay", [(thread.offcpu_queued_ns, by_tid[thread.tid].delayed, by_tid[thread.tid].unknown) for thread in threads], program)

    def check(self, name, both, program):
        """Compares for each thread: the value of ctprof, that of timehist, and the maximum by which the latter may be too small."""
        apart = [(ours - min(max(ours, theirs), theirs + unknown)) / theirs for ours, theirs, unknown in both]  # 0: no difference
        ours, theirs, unknown = (sum(figures) / 1e6 for figures in zip(*both))
        print(f"{' '.join(program[1:])}: {name} {ours:.3f} ms, by timehist {theirs:.3f} to {theirs + unknown:.3f}; apart, of a thread, from "
              f"{100 * min(apart):+.2f} to {100 * max(apart):+.2f} %")
        self.assertLess(max(map(abs, apart)), PERCENT, name)

    def test_few_threads_that_sometimes_wait_for_a_cpu(self):
        self.compare(WAITS, "turns", "3", "16")

    def test_many_threads_that_often_wait_for_a_cpu(self):
        self.compare(WAITS, "turns", "3", "60")


if __name__ == "__main__":
    unittest.main()
