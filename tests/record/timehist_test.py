#!/usr/bin/python3
"""Waits as off-cpu counts them beside `perf sched timehist` on the same switches and wake-ups: of each thread, from its birth to its last
switch, all time off a CPU, and what of it was a wait for one after a wake-up.

For tools/dev soak: it wants a perf that reads this kernel's events, and nothing lost. Environment: CTPROF, WAITS."""

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
import waited  # noqa: E402
from recording import harness  # noqa: E402

WAITS = os.environ["WAITS"]
EVENTS = "sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new"
BUFFER = "128M"  # for each CPU
PERCENT = 0.01
HIDDEN = 2  # turns of a thread: some kernels hide threads, and a switch from one of them is told to nobody
# Time, CPU, name, [tid/pid] or [tid] of a leader; ms waited off a CPU, of that after a wake-up, and ran; state, left with.
LINE = re.compile(r"\s*(\d+\.\d+) +\[\d+\] +.*?\[(\d+)(?:/\d+)?\] +(\d+\.\d+) +(\d+\.\d+) +\d+\.\d+ +(\w\+?)\s*")
SWITCH = re.compile(r"\s*(\d+\.\d+): +sched:sched_switch: .* prev_pid=(\d+) .* next_pid=(\d+) .*")
WAKEUP = re.compile(r"\s*(\d+\.\d+): +sched:sched_wakeup: .* pid=(\d+) .*")


def ns(text, unit):
    return round(float(text) * unit)


def whole_ns(ms):
    """Of a time that was cut to microseconds."""
    return ns(ms, 1e6) + (500 if float(ms) > 0 else 0)


class Told:
    """What timehist says of a thread, in ns. It does not call the time from birth to the first turn a wait, and we do. `unknown`: waits that
    end in a wait for a CPU, but nobody told of the wake-up."""

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

    def arrives(self, at):
        self.waited += at - self.left
        self.delayed += at - self.woken if self.woken else 0

    def leaves(self, at):
        self.turns += 1
        self.left, self.woken = at, None


def run(*words):
    return subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=300, check=False)


def told_by_timehist(data):
    """Threads by tid."""
    shown = run("perf", "sched", "timehist", "--state", "-i", data)
    assert not re.search(r"(?i)lost|out of order", shown.stderr), shown.stderr
    told = {}
    for line in shown.stdout.splitlines():
        if found := LINE.fullmatch(line):
            told.setdefault(int(found[2]), Told()).add(*found.group(1, 3, 4, 5))
    return told


def add_last_turns(data, told):
    """A thread that is being released has no id in a sample, and timehist leaves its last turns out: from the events themselves."""
    seen = {tid: thread.left for tid, thread in told.items()}
    shown = run("perf", "script", "-i", data, "--ns", "-F", "time,event,trace", "--time", f"{min(seen.values()) / 1e9:.9f},")
    for line in shown.stdout.splitlines():
        if found := SWITCH.fullmatch(line):
            at, leaves, arrives = ns(found[1], 1e9), int(found[2]), int(found[3])
            if leaves in told and at > seen[leaves] + 1000:  # timehist tells microseconds
                told[leaves].leaves(at)
            if arrives in told and at > seen[arrives] + 1000:
                told[arrives].arrives(at)
        elif (found := WAKEUP.fullmatch(line)) and int(found[2]) in told:
            thread = told[int(found[2])]
            thread.woken = ns(found[1], 1e9)


@measurement.run_twice_at_most
class Timehist(unittest.TestCase):
    def setUp(self):
        if os.geteuid() != 0 or not shutil.which("perf"):
            self.skipTest("needs perf, and leave to trace")
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.here = pathlib.Path(scratch.name)

    def both(self, *program):
        """The threads that the program starts, and by tid what timehist says of them. Of two programs at an event the one that came first is
        called first, and the other one's clock is later by what it takes: perf takes longer, so it is to be the second."""
        data, file = self.here / "perf.data", self.here / ("it" + recording.SUFFIX)
        perf = "perf", "record", "-a", "-m", BUFFER, "-k", "CLOCK_MONOTONIC", "-e", EVENTS, "-o", data
        done = run(*recording.command("--recorders", "off-cpu", "--offcpu-period", "10ms", "-o", file, "--", *perf, "--", *program))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotRegex(done.stderr, r"(?i)\blost\b|off-cpu: .* lost")
        threads = [thread for thread in waited.Waited(file).threads
                   if thread.pcomm == "waits" and thread.born and thread.ended and thread.tid != thread.tgid]
        self.assertGreater(len(threads), 3)
        every = told_by_timehist(data)
        told = {thread.tid: every[thread.tid] for thread in threads}
        add_last_turns(data, told)
        return threads, told

    def compare(self, *program):
        threads, told = self.both(*program)
        for thread in threads:
            self.assertAlmostEqual(thread.offcpu_count, told[thread.tid].turns, delta=HIDDEN, msg=thread.cells)
        self.check("wait", [(thread.offcpu_ns, told[thread.tid].waited, 0) for thread in threads], program)
        self.check("run delay", [(thread.offcpu_queued_ns, told[thread.tid].delayed, told[thread.tid].unknown) for thread in threads], program)

    def check(self, name, both, program):
        """Of each thread: our figure, timehist's, and by how much that may be too small."""
        apart = [(ours - min(max(ours, theirs), theirs + unknown)) / theirs for ours, theirs, unknown in both]  # 0: between both
        ours, theirs, unknown = (sum(figures) / 1e6 for figures in zip(*both))
        print(f"{' '.join(program[1:])}: {name} {ours:.3f} ms, by timehist {theirs:.3f} to {theirs + unknown:.3f}; apart, of a thread, from "
              f"{100 * min(apart):+.2f} to {100 * max(apart):+.2f} %")
        self.assertLess(max(map(abs, apart)), PERCENT, name)

    def test_few_that_wait_for_a_cpu_now_and_then(self):
        self.compare(WAITS, "turns", "3", "16")

    def test_many_that_wait_for_a_cpu_often(self):
        self.compare(WAITS, "turns", "3", "60")


if __name__ == "__main__":
    unittest.main()
