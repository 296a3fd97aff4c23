#!/usr/bin/python3
"""Checks the metrics and the finding of file locks on recorded trees with a constructed /proc/locks."""

import json
import os
import unittest

import harness
from entity_case import copy_tree

METRICS = ("process.file_lock_waiters", "process.file_lock_waits")
# Processes of the recorded tree: one has locks, the others wait; 999999 is not in the tree.
HOLDER, FIRST, SECOND = 1, 151, 154
UNCONTENDED = f"1: FLOCK  ADVISORY  WRITE {HOLDER} fe:00:11 0 EOF\n2: POSIX  ADVISORY  READ {FIRST} fe:00:12 0 9\n"
# A request that waits for another waiting request, a lock of an open file description, and a waiter for a lock of its own process.
CONTENDED = (UNCONTENDED + f"3: FLOCK  ADVISORY  WRITE {HOLDER} fe:00:13 0 EOF\n3: -> FLOCK  ADVISORY  WRITE {FIRST} fe:00:13 0 EOF\n"
             f"3:  -> FLOCK  ADVISORY  WRITE {SECOND} fe:00:13 0 EOF\n3:  -> FLOCK  ADVISORY  READ 999999 fe:00:13 0 EOF\n"
             f"4: OFDLCK ADVISORY  WRITE -1 fe:00:14 0 EOF\n4: -> POSIX  ADVISORY  WRITE {FIRST} fe:00:14 0 EOF\n"
             f"5: POSIX  ADVISORY  WRITE {SECOND} fe:00:15 0 EOF\n5: -> POSIX  ADVISORY  WRITE {FIRST} fe:00:15 0 EOF\n")
COUNTS = {HOLDER: (3, 0), FIRST: (0, 3), SECOND: (1, 1)}


class FileLocks(unittest.TestCase):
    longMessage = False

    @classmethod
    def setUpClass(cls):
        scratch = harness.scratch()
        cls.addClassCleanup(scratch.cleanup)
        cls.directory = scratch.name
        cls.before, cls.after, cls.quiet = (cls.capture(*one) for one in (("before", UNCONTENDED), ("after", CONTENDED), ("quiet", UNCONTENDED)))

    @classmethod
    def capture(cls, name, locks):
        root, file = os.path.join(cls.directory, name), os.path.join(cls.directory, f"{name}.ctprof.zst")
        write = copy_tree(root)
        write("proc/locks", locks)
        harness.capture(file, before=("--rootfs", root))
        return file

    def counts(self, file):
        shown = harness.run("show", file, "--metrics", ",".join(METRICS), "--group-by", "pid", "--format", "json", "--limit", "0")
        values = {}
        for row in json.loads(shown.stdout)["rows"]:
            tgid = int(row["group"].rpartition("[")[2].rstrip("]"))
            values.setdefault(tgid, {})[row["metric"]] = row["value"]
        return {tgid: tuple(row[metric] for metric in METRICS) for tgid, row in values.items()}

    def findings(self, *words):
        shown = harness.run(*words, "--format", "json")
        return {finding["rule"]: (finding["who"], finding["what"]) for finding in json.loads(shown.stdout)["screen"]["findings"]}

    def test_requests_count_for_the_process_that_has_the_lock(self):
        counts = self.counts(self.after)
        self.assertEqual({tgid: counts[tgid] for tgid in COUNTS}, COUNTS)
        self.assertEqual({numbers for tgid, numbers in counts.items() if tgid not in COUNTS}, {(0, 0)})

    def test_locks_without_waiters_are_zero(self):
        self.assertEqual(set(self.counts(self.before).values()), {(0, 0)})

    def test_endless_lists_are_not_read(self):
        """Any user can take any number of locks."""
        for name, lines, is_read in (("long", 10_000, True), ("endless", 20_000, False)):
            text = CONTENDED + f"6: POSIX  ADVISORY  WRITE {SECOND} 103:02:8519684 1048576 1048577\n" * lines
            self.assertEqual(len(text) <= 1 << 20, is_read)
            self.assertEqual(self.counts(self.capture(name, text))[HOLDER], COUNTS[HOLDER] if is_read else (None, None))

    def test_a_lock_with_three_waiters_is_a_finding(self):
        what = "had file locks (flock, fcntl) that 3 requests waited for at the end"
        name = open(os.path.join(self.directory, "after", f"proc/{HOLDER}/comm"), encoding="utf-8").read().strip()
        self.assertEqual(self.findings("show", f"{self.before}..{self.after}").get("process.file_lock_queue"), (name, what))

    def test_locks_without_waiters_are_none(self):
        self.assertNotIn("process.file_lock_queue", self.findings("show", f"{self.after}..{self.quiet}"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
