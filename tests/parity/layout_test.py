#!/usr/bin/python3
"""The layout checker accepts every kind of file that we write, and every cell without value holds what its metric says."""

import json
import os
import unittest

import file_json
import harness
import layout_checker


class Layout(unittest.TestCase):
    longMessage = False

    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.path = os.path.join(scratch.name, "layout.ctprof.zst")

    def assert_fine(self, path):
        wrong = layout_checker.check_file(path)
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong[:20]))
        faults = file_json.load(path).faults()
        self.assertEqual(faults, [], "\n" + "\n".join(faults[:20]))

    def test_live_host(self):
        harness.capture(self.path)
        self.assert_fine(self.path)

    def test_live_host_without_rights(self):
        if not harness.can_become_user():
            self.skipTest("needs root, to become somebody without rights")
        harness.capture(self.path, prefix=harness.USER)
        self.assert_fine(self.path)

    def test_recorded_trees(self):
        for kernel in harness.kernels():
            with self.subTest(kernel=kernel):
                harness.capture_tree(kernel, self.path)
                self.assert_fine(self.path)

    def as_rows(self, *words, before=()):
        """A capture in columns, exported to where `assert_fine` looks."""
        columns = self.path.replace("layout", "columns")
        harness.capture(columns, "--layout", "columns", *words, before=before)
        done = harness.run("export", columns, "--to", "ktstr", "-o", self.path)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_rows_made_of_columns(self):
        self.as_rows()
        self.assert_fine(self.path)
        self.as_rows("--metrics", "run_time_ns")
        self.assert_fine(self.path)
        for kernel in harness.kernels():
            with self.subTest(kernel=kernel):
                self.as_rows(before=("--rootfs", harness.fixture(kernel)))
                self.assert_fine(self.path)

    def test_rows_made_of_a_window(self):
        """The host as it was at its end, without the threads that had ended."""
        window = self.path.replace("layout", "window")
        done = harness.run("record", "-o", window, "--", "sh", "-c", "sleep 0.3 & sleep 0.1; wait")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(harness.run("show", window, "--format", "json", "--limit", "1").stdout)["snapshot"]["window"]
        done = harness.run("export", window, "--to", "ktstr", "-o", self.path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"without the {told['ended']:,} thread", done.stderr)
        self.assert_fine(self.path)
        self.assertEqual(len(file_json.load(self.path).threads), told["threads_after"])

    def test_one_metric(self):
        harness.capture(self.path, "--metrics", "run_time_ns")
        self.assert_fine(self.path)

    def test_one_process(self):
        harness.capture(self.path, "-p", str(os.getpid()))
        self.assert_fine(self.path)
        self.assertEqual({row["tgid"] for row in file_json.load(self.path).threads.values()}, {os.getpid()})

    def test_stores_again_what_it_wrote(self):
        """A second capture over the first leaves a file as good, and nothing beside it."""
        harness.capture(self.path)
        harness.capture(self.path)
        self.assert_fine(self.path)
        self.assertEqual(os.listdir(os.path.dirname(self.path)), [os.path.basename(self.path)])


if __name__ == "__main__":
    harness.main()
