#!/usr/bin/python3
"""Checks that live captures of forty sleeping threads equal the plain reader in every field, with hostile names included."""

import os
import unittest

import file_json
import harness
import plain_reader
from compare_rows import uncovered_columns, row_differences

THREADS = 41  # forty, and the main thread

# Pages that other processes map too are divided by the number of mappings. These are a few pages of the kernel (vdso).
SHARED = "Pss"
SHARED_SLACK_KIB = 4


class SleepingThreads(unittest.TestCase):
    longMessage = False

    def setUp(self):
        self.scratch = harness.scratch()
        self.addCleanup(self.scratch.cleanup)
        self.file = os.path.join(self.scratch.name, "sleeping.ctprof.zst")
        self.tree = plain_reader.Tree("/")

    def read(self, pid):
        """Reads everything about the process. Returns None while one of its threads does not sleep yet."""
        rows = {(tgid, tid): plain_reader.read_thread(self.tree, tgid, tid)
                for tgid, tid in self.tree.threads() if tgid == pid}
        all_sleep = len(rows) == THREADS and all(row["state"] == b"S" for row in rows.values())
        return rows if all_sleep else None

    def compare(self, prefix, *words):
        with harness.Helper("SLEEPERS", cwd=self.scratch.name) as sleepers:
            before = harness.read_until_stable(lambda: self.read(sleepers.pid) or object(), pid=sleepers.pid)
            harness.capture(self.file, *words, prefix=prefix)
            self.assertEqual(self.read(sleepers.pid), before, "the sleepers did not sleep")
            rollup = plain_reader.read_smaps_rollup(self.tree, sleepers.pid)
        captured = file_json.load(self.file)
        self.compare_threads(before, captured)
        return rollup, captured.processes[sleepers.pid]["process.smaps_rollup"]

    def compare_threads(self, before, captured):
        differences = []
        for key, expected in before.items():
            if key not in captured.threads:
                differences.append(f"{key} is not in the file")
                continue
            differences += row_differences(f"{key[0]}/{key[1]}", expected, captured.threads[key])
            differences += uncovered_columns(expected, captured.threads[key], captured.columns_of("thread", "procfs-sched"))
        self.assertEqual(differences, [], "\n" + "\n".join(differences[:40]))

    def compare_rollup(self, expected, found):
        self.assertEqual(sorted(expected), sorted(found), "other keys in smaps_rollup")
        for key, kib in expected.items():
            slack = SHARED_SLACK_KIB if SHARED in key else 0
            self.assertLessEqual(abs(found[key] - kib), slack, f"smaps_rollup {key}: {found[key]}, not {kib}")

    def test_resident_memory(self):
        """The value agrees with another file of the kernel."""
        with harness.Helper("SLEEPERS", cwd=self.scratch.name) as sleepers:
            harness.read_until_stable(lambda: self.read(sleepers.pid) or object(), pid=sleepers.pid)
            harness.capture(self.file)
            expected = plain_reader.resident_bytes(self.tree, sleepers.pid)
            captured = file_json.load(self.file)
            self.assertEqual(captured.processes[sleepers.pid]["rss_bytes"], expected)
            self.assertEqual(captured.processes[2]["rss_bytes"], file_json.Gap("NotApplicable"), "a kernel thread")
            self.assertGreater(expected, 0)

    def test_the_whole_host(self):
        self.compare_rollup(*self.compare([]))

    def test_several_workers(self):
        self.compare_rollup(*self.compare([], "--jobs", "3"))

    def test_by_a_user_without_rights(self):
        """Values of root's threads that a user may not read are Denied. The plain reader reports the same when it runs as that user."""
        if not harness.can_become_user():
            self.skipTest("needs root, to become an unprivileged user")
        with harness.Helper("SLEEPERS", cwd=self.scratch.name) as sleepers:
            before = harness.read_until_stable(lambda: self.read(sleepers.pid) or object(), pid=sleepers.pid)
            harness.capture(self.file, prefix=harness.USER)
        for row in before.values():
            row.update({key: plain_reader.missing("Denied") for key in plain_reader.IO_KEYS})
        captured = file_json.load(self.file)
        self.compare_threads(before, captured)
        gap = captured.processes[sleepers.pid]["process.smaps_rollup"]
        self.assertEqual(gap, file_json.Gap("Denied"))


if __name__ == "__main__":
    harness.main()
