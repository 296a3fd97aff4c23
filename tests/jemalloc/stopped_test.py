#!/usr/bin/python3
"""Tests that a user who stops a ctprof with file capabilities stops no other process.

A user may send SIGSTOP to such a ctprof, or freeze its cgroup, although it can trace processes that the user may not. TEST_ROUNDS is the number
of attempts of each kind, at random times of a capture."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "parity"))
import harness
from harness import Helper
from product_copy import product_copy

ROUNDS = int(os.environ.get("TEST_ROUNDS", "60"))
THREADS = 60
CGROUPS = next((path for path in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified") if os.path.exists(f"{path}/cgroup.controllers")), "")
SETTLE_S = 0.002


def states(pid):
    found = set()
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/stat", "rb") as file:
            found.add(file.read().rpartition(b")")[2].split()[0].decode())
    return found


@unittest.skipUnless("HEAP_LINKED" in os.environ, "no HEAP_LINKED: the development files of jemalloc are missing")
@unittest.skipUnless(harness.can_become_user() and shutil.which("setcap"), "needs root, and setcap")
class StoppedProgram(unittest.TestCase):
    def setUp(self):
        self.scratch = harness.scratch()
        self.addCleanup(self.scratch.cleanup)
        installed = harness.root_only_scratch()
        self.addCleanup(installed.cleanup)
        self.program = product_copy(harness.CTPROF, installed.name)
        subprocess.run(["setcap", "cap_sys_ptrace,cap_dac_read_search+ep", self.program], check=True)

    def command(self, pid):
        path = os.path.join(self.scratch.name, "x.ctprof.zst")
        return [*harness.USER, self.program, "-q", "--plugins=jemalloc-ptrace", "capture", "--no-sync", "-p", str(pid), "-o", path]

    def count_stopped_targets(self, stop, resume, start=lambda: None):
        """Returns how many rounds found a thread of the target stopped while ctprof was stopped."""
        numbers, found = random.Random(2), 0
        with Helper("HEAP_LINKED", str(THREADS)) as heap:
            begin = time.monotonic()
            subprocess.run(self.command(heap.pid), check=True)
            whole = time.monotonic() - begin
            for _ in range(ROUNDS):
                ctprof = subprocess.Popen(self.command(heap.pid), preexec_fn=start)
                time.sleep(numbers.uniform(0, whole))
                stop(ctprof.pid)
                time.sleep(SETTLE_S)
                found += bool(states(heap.pid) & {"t", "T"})
                resume(ctprof.pid)
                self.assertEqual(ctprof.wait(harness.TIMEOUT), 0)
        return found

    def test_a_signal_stops_no_target(self):
        self.assertEqual(self.count_stopped_targets(lambda pid: os.kill(pid, signal.SIGSTOP), lambda pid: os.kill(pid, signal.SIGCONT)), 0)

    @unittest.skipUnless(CGROUPS and os.path.exists(f"{CGROUPS}/cgroup.procs"), "no cgroup2")
    def test_a_frozen_cgroup_stops_no_target(self):
        group = f"{CGROUPS}/ctprof-stopped-{os.getpid()}"
        os.mkdir(group)
        self.addCleanup(os.rmdir, group)

        def write(name, text):
            with open(f"{group}/{name}", "w", encoding="ascii") as file:
                file.write(text)

        def thaw(_):
            write("cgroup.freeze", "0")

        self.addCleanup(thaw, None)
        self.assertEqual(self.count_stopped_targets(lambda _: write("cgroup.freeze", "1"), thaw, start=lambda: write("cgroup.procs", "0")), 0)

    def test_doctor_reports_the_limitation(self):
        finished = subprocess.run([*harness.USER, self.program, "doctor", "--format", "json"], capture_output=True, check=False, text=True)
        [plugin] = [plugin for plugin in json.loads(finished.stdout)["plugins"] if plugin["name"] == "jemalloc-ptrace"]
        states_and_remedies = {(finding["state"], finding["remedy"]["what"]) for finding in plugin["findings"] if "AT_SECURE" in finding["reason"]}
        self.assertEqual(states_and_remedies, {("Denied", "cap_bpf,cap_perfmon,cap_sys_ptrace")})


if __name__ == "__main__":
    harness.main()
