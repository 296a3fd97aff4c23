#!/usr/bin/python3
"""Tests that whole captures leave their targets stopped, traced or running as before, even if ctprof is killed."""

import ctypes
import os
import random
import signal
import subprocess
import sys
import time
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "parity"))
import file_json
import harness
from harness import Helper

THREADS = 60
KILLS = 200
MAX_TRIES = 5 * KILLS
PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
BUSY = file_json.Gap("Busy")


def ptrace(request, tid):
    if LIBC.ptrace(request, tid, None, None) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def status(pid, key):
    """Returns {tid: value of the key in status} for all threads."""
    found = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/status", encoding="utf-8", errors="replace") as text:
            found[int(tid)] = next(line.split()[1] for line in text if line.startswith(key + ":"))
    return found


def is_untraced(pid):
    """Returns whether no thread is traced, possibly after a moment, as another capture may run on this host."""
    for _ in range(100):
        if set(status(pid, "TracerPid").values()) == {"0"} and "t" not in status(pid, "State").values():
            return True
        time.sleep(0.01)
    return False


@unittest.skipUnless("HEAP_LINKED" in os.environ, "no HEAP_LINKED: the development files of jemalloc are missing")
class UndisturbedTargets(unittest.TestCase):
    def setUp(self):
        self.scratch = harness.scratch()
        self.addCleanup(self.scratch.cleanup)
        self.path = os.path.join(self.scratch.name, "x.ctprof.zst")

    def capture_allocated_bytes(self, pid):
        harness.capture(self.path, "--pid", str(pid), before=("--plugins=jemalloc-ptrace",))
        file = file_json.load(self.path)
        self.assertEqual(file.faults(), [])
        return {tid: row["allocated_bytes"] for (_, tid), row in file.threads.items()}

    def assert_values_available(self, pid):
        self.assertTrue(all(isinstance(value, int) for value in self.capture_allocated_bytes(pid).values()))

    def test_a_stopped_process_is_busy_and_stays_stopped(self):
        with Helper("HEAP_LINKED", str(THREADS)) as heap:
            os.kill(heap.pid, signal.SIGSTOP)
            os.waitpid(heap.pid, os.WUNTRACED)
            start = time.monotonic()
            self.assertEqual(set(self.capture_allocated_bytes(heap.pid).values()), {BUSY})
            self.assertLess(time.monotonic() - start, 5)
            self.assertEqual(set(status(heap.pid, "State").values()), {"T"})
            os.kill(heap.pid, signal.SIGCONT)
            self.assert_values_available(heap.pid)

    def test_a_traced_thread_is_busy_and_stays_traced(self):
        with Helper("HEAP_LINKED", str(THREADS)) as heap:
            ptrace(PTRACE_SEIZE, heap.pid)
            found = self.capture_allocated_bytes(heap.pid)
            self.assertEqual([tid for tid, value in found.items() if value == BUSY], [heap.pid])
            self.assertEqual(len([value for value in found.values() if isinstance(value, int)]), THREADS)
            self.assertEqual(status(heap.pid, "TracerPid")[heap.pid], str(os.getpid()))
            ptrace(PTRACE_INTERRUPT, heap.pid)
            os.waitpid(heap.pid, 0)
            ptrace(PTRACE_DETACH, heap.pid)
            self.assert_values_available(heap.pid)

    def test_a_traced_thread_is_not_counted_as_denied(self):
        with Helper("HEAP_LINKED", str(THREADS)) as heap:
            ptrace(PTRACE_SEIZE, heap.pid)
            self.capture_allocated_bytes(heap.pid)
            summary = file_json.load(self.path).document["probe_summary"]
            self.assertEqual((summary["failed"], summary["dominant_failure"], summary["privilege_dominant"]), (1, "ptrace-seize", False))

    def test_ctprof_is_killed_during_a_capture(self):
        with Helper("HEAP_LINKED", str(THREADS)) as heap:
            words = [harness.CTPROF, "--plugins=jemalloc-ptrace", "capture", "--no-sync", "--pid", str(heap.pid), "-o", self.path]
            start = time.monotonic()
            subprocess.run(words, capture_output=True, check=True)
            longest = time.monotonic() - start
            numbers, killed = random.Random(1), 0
            for _ in range(MAX_TRIES):
                ctprof = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(numbers.uniform(0, longest))
                ctprof.kill()
                was_killed = ctprof.wait() == -signal.SIGKILL
                self.assertTrue(is_untraced(heap.pid), "a thread is still traced")
                # The duration of a capture varies with the load. Most kills must come late in the capture, but before its end.
                longest *= 1.05 if was_killed else 0.8
                killed += was_killed
                if killed == KILLS:
                    break
            self.assertEqual(killed, KILLS, "most captures ended before they could be killed")
            self.assert_values_available(heap.pid)

    def test_missing_privileges_are_reported_with_a_remedy(self):
        if not harness.can_become_user():
            self.skipTest("not root")
        with Helper("HEAP_LINKED", "1") as heap:
            finished = harness.capture(self.path, before=("--plugins=jemalloc-ptrace",), prefix=harness.USER)
            file = file_json.load(self.path)
            self.assertEqual({row["allocated_bytes"] for (tgid, _), row in file.threads.items() if tgid == heap.pid},
                             {file_json.Gap("Denied")})
            self.assertEqual(finished.stderr.count("Permission denied; run as root: "), 1, finished.stderr)
            self.assertLessEqual(len(finished.stderr.splitlines()), 6)
            self.assertEqual(file.document["probe_summary"]["jemalloc_detected"], 0)


if __name__ == "__main__":
    harness.main()
