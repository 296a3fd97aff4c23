#!/usr/bin/python3
"""Checks captures while 2,000 threads start and end each second: every column is consistent, and forty stable threads are complete."""

import os
import unittest

import file_json
import harness
import layout_checker
import plain_reader
from compare_rows import row_differences

REQUESTED_RATE = 2600  # per second: the rate that the test requests, and the rate that it requires
REQUIRED_RATE = 2000
CAPTURES = 8

# procfs-sched reads each thread separately, so that some threads exit during the capture.
FILES = ("--plugins=procfs-sched",)


def read_sleeping_threads(tree, pid):
    """Returns the threads of the process, or while one of them does not sleep yet an object that differs in each call."""
    rows = {key: plain_reader.read_thread(tree, *key) for key in tree.threads() if key[0] == pid}
    return rows if all(row["state"] == b"S" for row in rows.values()) else object()


class Churn(unittest.TestCase):
    longMessage = False

    def setUp(self):
        self.scratch = harness.scratch()
        self.addCleanup(self.scratch.cleanup)

    def captures(self, *words):
        """Captures during the churn. Returns the loaded files and the expected rows of the stable threads."""
        paths = [os.path.join(self.scratch.name, f"{i}.ctprof.zst") for i in range(CAPTURES)]
        tree = plain_reader.Tree("/")
        with harness.Helper("SLEEPERS", cwd=self.scratch.name) as sleepers:
            stable = harness.read_until_stable(lambda: read_sleeping_threads(tree, sleepers.pid))
            with harness.Helper("CHURN", str(REQUESTED_RATE)) as churn:
                for path in paths:
                    harness.capture(path, *words, before=FILES)
                count, _, _, seconds, _ = churn.finish().split()
        rate = int(count) / float(seconds)
        if rate < REQUIRED_RATE:
            self.skipTest(f"this machine starts only {rate:.0f} threads per second")
        return churn.pid, stable, [file_json.load(path) for path in paths], paths

    def check(self, *words):
        churn_pid, stable, files, paths = self.captures(*words)
        for path, file in zip(paths, files):
            self.assertEqual(layout_checker.check_file(path), [])
            self.assertEqual(file.faults(), [])
            differences = [sentence for key, expected in stable.items()
                           for sentence in row_differences(key, expected, file.threads.get(key, {}))]
            self.assertEqual(differences, [], "\n" + "\n".join(differences[:20]))
        self.check_that_threads_exited(churn_pid, files)

    def check_that_threads_exited(self, churn_pid, files):
        """Checks that threads of the churn were captured and that some exited while they were read. Otherwise the test would have tested nothing."""
        caught = [row for file in files for (tgid, _), row in file.threads.items() if tgid == churn_pid]
        self.assertGreater(len(caught), 0, "no short-lived thread was captured")
        exited_while_read = sum(file_json.Gap("ThreadGone") in row.values() for row in caught)
        absent = sum(file.document["ctprof"]["rows_absent"] for file in files)
        self.assertGreater(exited_while_read + absent, 0, "no thread exited during a capture")

    def test_one_worker(self):
        self.check("--jobs", "1")

    def test_several_workers(self):
        self.check("--jobs", "4")


if __name__ == "__main__":
    harness.main()
