#!/usr/bin/python3
"""A hundred threads with known allocations: a capture has exactly the figures that jemalloc tells the threads themselves."""

import os
import sys
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "parity"))
import file_json
import harness
from harness import Helper

THREADS = 100
LIBRARY = os.environ.get("LIBJEMALLOC", "")


class Values(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        self.scratch = harness.scratch()
        self.addCleanup(self.scratch.cleanup)

    def captured(self, pid, *words):
        path = os.path.join(self.scratch.name, "heap.ctprof.zst")
        harness.capture(path, *words, before=("--plugins=jemalloc-ptrace",))
        file = file_json.load(path)
        self.assertEqual(file.faults(), [])
        return file, {tid: (row["allocated_bytes"], row["deallocated_bytes"]) for (tgid, tid), row in file.threads.items() if tgid == pid}

    @staticmethod
    def marks(file, pid):
        return {row["jemalloc_measured"] for row in file.document["threads"] if row["tgid"] == pid}

    def check(self, variant, threads=THREADS):
        if variant not in os.environ:
            self.skipTest(f"no {variant}: the development files of jemalloc are missing")
        with Helper(variant, str(threads)) as heap:
            file, ours = self.captured(heap.pid)
            lines = heap.finish().splitlines()
        own = {int(tid): (int(allocated), int(freed)) for tid, allocated, freed in map(str.split, lines)}
        self.assertEqual(len(own), threads + 1)
        self.assertGreater(len(set(own.values())), threads // 2, "threads do not differ enough to be told apart")
        self.assertEqual(ours, own)
        self.assertEqual(self.marks(file, heap.pid), {True})

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

    def test_more_threads_than_a_batch_holds(self):
        self.check("HEAP_LINKED", 2000)

    def test_a_process_without_jemalloc(self):
        file, ours = self.captured(os.getpid())
        self.assertEqual(set(sum(ours.values(), ())), {file_json.Gap("NotApplicable")})
        self.assertEqual(self.marks(file, os.getpid()), {False})

    def test_the_summary_counts(self):
        if "HEAP_LINKED" not in os.environ:
            self.skipTest("no HEAP_LINKED: the development files of jemalloc are missing")
        with Helper("HEAP_LINKED", str(THREADS)) as heap:
            file, _ = self.captured(heap.pid, "--pid", f"{heap.pid},{os.getpid()}")
        said = file.document["probe_summary"]
        self.assertEqual(said, {"tgids_walked": 2, "jemalloc_detected": 1, "probed_ok": THREADS + 1, "failed": 0,
                                "dominant_failure": None, "privilege_dominant": False, "denied": 0})
        [cost] = [source for source in file.document["ctprof"]["sources"] if source["plugin"] == "jemalloc-ptrace"]
        self.assertGreater(cost["longest_stop_ns"], 0)
        self.assertLess(cost["longest_stop_ns"], 1e9)


if __name__ == "__main__":
    harness.main()
