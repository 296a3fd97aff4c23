#!/usr/bin/python3
"""Tests that a capture of 100 threads has exactly the values that jemalloc reports to the threads themselves.

Uses ptrace, and task-iter, which stops no thread."""

import os
import re
import signal
import subprocess
import sys
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "parity"))
import file_json
import harness
from harness import Helper

THREADS = 100
BUSY = file_json.Gap("Busy")
LIBRARY = os.environ.get("LIBJEMALLOC", "")


class PtraceValues(unittest.TestCase):
    maxDiff = 2000
    PLUGIN = "jemalloc-ptrace"

    def setUp(self):
        self.scratch = harness.scratch()
        self.addCleanup(self.scratch.cleanup)

    def capture_values(self, pid, *words):
        path = os.path.join(self.scratch.name, "heap.ctprof.zst")
        harness.capture(path, *words, before=(f"--plugins={self.PLUGIN}",))
        file = file_json.load(path)
        self.assertEqual(file.faults(), [])
        return file, {tid: (row["allocated_bytes"], row["deallocated_bytes"]) for (tgid, tid), row in file.threads.items() if tgid == pid}

    def capture_until_not_busy(self, pid):
        """Repeats the capture if threads are Busy, because they may not stop in time on a loaded machine."""
        for _ in range(3):
            file, ours = self.capture_values(pid)
            if BUSY not in sum(ours.values(), ()):
                break
        return file, ours

    @staticmethod
    def heap_columns(file, pid):
        return {row["jemalloc_measured"] for row in file.document["threads"] if row["tgid"] == pid}

    def check(self, variant, threads=THREADS):
        if variant not in os.environ:
            self.skipTest(f"no {variant}: the development files of jemalloc are missing")
        with Helper(variant, str(threads)) as heap:
            file, ours = self.capture_until_not_busy(heap.pid)
            lines = heap.finish().splitlines()
        own = {int(tid): (int(allocated), int(freed)) for tid, allocated, freed in map(str.split, lines)}
        self.assertEqual(len(own), threads + 1)
        self.assertGreater(len(set(own.values())), threads // 2, "threads have too few distinct values")
        self.assertEqual(ours, own)
        self.assertEqual(self.heap_columns(file, heap.pid), {True})

    def test_preloaded(self):
        if not LIBRARY:
            self.skipTest("no libjemalloc.so.2")
        os.environ["LD_PRELOAD"] = LIBRARY
        self.addCleanup(os.environ.pop, "LD_PRELOAD")
        self.check("HEAP_PRELOADED")

    def test_linked(self):
        self.check("HEAP_LINKED")

    def test_archive(self):
        self.check("HEAP_ARCHIVE")

    def test_archive_stripped(self):
        self.check("HEAP_ARCHIVE_STRIPPED")

    def test_static(self):
        self.check("HEAP_STATIC")

    def test_static_stripped(self):
        self.check("HEAP_STATIC_STRIPPED")

    def test_preloaded_library_is_unused(self):
        """The library is loaded, but the program calls its own allocator, which counts all allocations."""
        if not LIBRARY:
            self.skipTest("no libjemalloc.so.2")
        os.environ["LD_PRELOAD"] = LIBRARY
        self.addCleanup(os.environ.pop, "LD_PRELOAD")
        self.check("HEAP_ARCHIVE")

    def test_an_allocator_that_cannot_be_read(self):
        """The process is counted, and named with -v."""
        path = os.path.join(self.scratch.name, "heap.ctprof.zst")
        with harness.background_process(os.environ["DESCRIBED"], stdout=subprocess.PIPE) as described:
            described.stdout.readline()
            quiet = harness.capture(path, "--pid", str(described.pid), before=(f"--plugins={self.PLUGIN}",))
            verbose = harness.capture(path, "--pid", str(described.pid), "-v", before=(f"--plugins={self.PLUGIN}",))
        note = f"{self.PLUGIN}: the allocator of 1 process could not be read (1 dwarf-parse-failure); `ctprof capture -v` names it"
        name = f"{self.PLUGIN}: allocated_bytes and 1 other metric: Unsupported for described[{described.pid}]"
        self.assertIn(note, quiet.stderr)
        self.assertNotIn(name, quiet.stderr)
        self.assertIn(name, verbose.stderr)
        self.assertIn(note, file_json.load(path).document["ctprof"]["notes"])

    def test_more_threads_than_a_batch(self):
        self.check("HEAP_LINKED", 2000)

    def test_a_process_without_jemalloc(self):
        file, ours = self.capture_values(os.getpid())
        self.assertEqual(set(sum(ours.values(), ())), {file_json.Gap("NotApplicable")})
        self.assertEqual(self.heap_columns(file, os.getpid()), {False})

    def test_the_summary_counts(self):
        if "HEAP_LINKED" not in os.environ:
            self.skipTest("no HEAP_LINKED: the development files of jemalloc are missing")
        with Helper("HEAP_LINKED", str(THREADS)) as heap:
            file, _ = self.capture_values(heap.pid, "--pid", f"{heap.pid},{os.getpid()}")
        probes = file.document["probe_summary"]
        self.assertEqual(probes, {"tgids_walked": 2, "jemalloc_detected": 1, "probed_ok": THREADS + 1, "failed": 0,
                                  "dominant_failure": None, "privilege_dominant": False, "denied": 0})
        self.check_stops(next(source["longest_stop_ns"] for source in file.document["ctprof"]["sources"]
                              if source["plugin"] == self.PLUGIN and source["stage"] == "thread"))

    def check_stops(self, longest_ns):
        self.assertGreater(longest_ns, 0)
        self.assertLess(longest_ns, 1e9)


class TaskIterValues(PtraceValues):
    PLUGIN = "task-iter"

    def setUp(self):
        output = harness.run(f"--plugins={self.PLUGIN}", "plugins").stdout
        if not re.search(r"^ .*\ballocated_bytes", output.split("Denied:")[0].split("Unsupported:")[0], re.M):
            self.skipTest("needs the plugin task-iter, and the right to load BPF programs")
        super().setUp()

    def check_stops(self, longest_ns):
        self.assertEqual(longest_ns, 0)

    def test_a_stopped_thread_is_read(self):
        if "HEAP_LINKED" not in os.environ:
            self.skipTest("no HEAP_LINKED: the development files of jemalloc are missing")
        with Helper("HEAP_LINKED", "3") as heap:
            os.kill(heap.pid, signal.SIGSTOP)
            try:
                _, ours = self.capture_values(heap.pid)
            finally:
                os.kill(heap.pid, signal.SIGCONT)
        self.assertEqual(len(ours), 4)
        self.assertTrue(all(isinstance(figure, int) for figures in ours.values() for figure in figures), ours)

    def test_no_ptrace_call_is_made(self):
        if "HEAP_LINKED" not in os.environ:
            self.skipTest("no HEAP_LINKED: the development files of jemalloc are missing")
        trace = os.path.join(self.scratch.name, "trace")
        calls = ""
        for _ in range(3):  # under strace on a busy machine, the helper may time out before its first read
            with Helper("HEAP_LINKED", str(THREADS)) as heap:
                harness.under_strace(self, ("-f", "-e", "trace=ptrace,process_vm_readv"), f"--plugins={self.PLUGIN}", "capture", "-p", str(heap.pid),
                                     "--force", "-o", os.path.join(self.scratch.name, "traced.ctprof.zst"), log=trace)
            with open(trace, encoding="utf-8", errors="replace") as file:
                calls = file.read()
            self.assertNotIn("ptrace(", calls)
            if "process_vm_readv(" in calls:
                break
        self.assertIn("process_vm_readv(", calls)
        self.assertLess(calls.count("process_vm_readv("), THREADS // 4)


if __name__ == "__main__":
    harness.main()
