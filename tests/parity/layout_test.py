#!/usr/bin/python3
"""Checks that the layout checker accepts every kind of file that is captured from recorded trees, and that every cell without a value has
the JSON that its metric defines for it."""

import os
import unittest

import file_json
import harness
import layout_checker


class Case(unittest.TestCase):
    longMessage = False

    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.path = os.path.join(scratch.name, "layout.ctprof.zst")

    def assert_valid(self, path):
        wrong = layout_checker.check_file(path)
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong[:20]))
        faults = file_json.load(path).faults()
        self.assertEqual(faults, [], "\n" + "\n".join(faults[:20]))

    def export_columns(self, *words, before=()):
        """Captures in the columns layout, and exports it to the path that `assert_valid` checks."""
        columns = self.path.replace("layout", "columns")
        harness.capture(columns, "--layout", "columns", *words, before=before)
        finished = harness.run("export", columns, "--to", "ktstr", "-o", self.path)
        self.assertEqual(finished.returncode, 0, finished.stderr)


class Layout(Case):
    def test_recorded_trees(self):
        for kernel in harness.kernels():
            with self.subTest(kernel=kernel):
                harness.capture_tree(kernel, self.path)
                self.assert_valid(self.path)

    def test_export_of_columns(self):
        for kernel in harness.kernels():
            with self.subTest(kernel=kernel):
                for words in (), ("--metrics", "run_time_ns"):
                    self.export_columns(*words, before=("--rootfs", harness.fixture(kernel)))
                    self.assert_valid(self.path)

    def test_one_metric(self):
        harness.capture_tree("6.12", self.path, "--metrics", "run_time_ns")
        self.assert_valid(self.path)

    def test_replaces_an_earlier_capture(self):
        """A second capture replaces the first with a valid file, and leaves no other file behind."""
        harness.capture_tree("6.12", self.path)
        harness.capture_tree("6.12", self.path)
        self.assert_valid(self.path)
        self.assertEqual(os.listdir(os.path.dirname(self.path)), [os.path.basename(self.path)])


if __name__ == "__main__":
    harness.main()
