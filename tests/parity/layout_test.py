#!/usr/bin/python3
"""The layout checker accepts every kind of file that is written of recorded trees, and every cell without value holds what its metric says."""

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

    def assert_fine(self, path):
        wrong = layout_checker.check_file(path)
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong[:20]))
        faults = file_json.load(path).faults()
        self.assertEqual(faults, [], "\n" + "\n".join(faults[:20]))

    def as_rows(self, *words, before=()):
        """A capture in columns, exported to where `assert_fine` looks."""
        columns = self.path.replace("layout", "columns")
        harness.capture(columns, "--layout", "columns", *words, before=before)
        done = harness.run("export", columns, "--to", "ktstr", "-o", self.path)
        self.assertEqual(done.returncode, 0, done.stderr)


class Layout(Case):
    def test_recorded_trees(self):
        for kernel in harness.kernels():
            with self.subTest(kernel=kernel):
                harness.capture_tree(kernel, self.path)
                self.assert_fine(self.path)

    def test_rows_made_of_columns(self):
        for kernel in harness.kernels():
            with self.subTest(kernel=kernel):
                for words in (), ("--metrics", "run_time_ns"):
                    self.as_rows(*words, before=("--rootfs", harness.fixture(kernel)))
                    self.assert_fine(self.path)

    def test_one_metric(self):
        harness.capture_tree("6.12", self.path, "--metrics", "run_time_ns")
        self.assert_fine(self.path)

    def test_stores_again_what_it_wrote(self):
        """A second capture over the first leaves a file as good, and nothing beside it."""
        harness.capture_tree("6.12", self.path)
        harness.capture_tree("6.12", self.path)
        self.assert_fine(self.path)
        self.assertEqual(os.listdir(os.path.dirname(self.path)), [os.path.basename(self.path)])


if __name__ == "__main__":
    harness.main()
