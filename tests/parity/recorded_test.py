#!/usr/bin/python3
"""Checks that captures of every recorded tree, through --rootfs, equal the plain readers: all rows, all fields, and the reasons of the gaps."""

import os
import unittest

import file_json
import harness
import plain_cgroups
import plain_reader
from compare_rows import cell_differs, uncovered_columns, row_differences


class RecordedTrees(unittest.TestCase):
    longMessage = False

    @classmethod
    def setUpClass(cls):
        cls.scratch = harness.scratch()
        cls.addClassCleanup(cls.scratch.cleanup)

    def capture_recorded(self, kernel):
        path = os.path.join(self.scratch.name, f"{kernel}.ctprof.zst")
        if not os.path.exists(path):
            harness.capture_tree(kernel, path)
        return plain_reader.Tree(harness.fixture(kernel)), file_json.load(path)

    def assert_none(self, sentences):
        self.assertEqual(sentences, [], "\n" + "\n".join(sentences[:40]))

    def test_all_threads_are_captured(self):
        for kernel in harness.kernels():
            with self.subTest(kernel=kernel):
                tree, file = self.capture_recorded(kernel)
                self.assertEqual(list(file.threads), tree.threads(), "other threads than the tree has")

    def test_all_fields_equal(self):
        for kernel in harness.kernels():
            with self.subTest(kernel=kernel):
                tree, file = self.capture_recorded(kernel)
                differences = []
                for (tgid, tid), row in file.threads.items():
                    expected = plain_reader.read_thread(tree, tgid, tid)
                    differences += row_differences(f"{kernel} {tgid}/{tid}", expected, row)
                    differences += uncovered_columns(expected, row, file.columns_of("thread", "procfs-sched"))
                self.assert_none(differences)

    def test_smaps_rollup_equals(self):
        for kernel in harness.kernels():
            with self.subTest(kernel=kernel):
                tree, file = self.capture_recorded(kernel)
                self.assertEqual(sorted(file.processes), tree.processes())
                whys = {tgid: cell_differs(plain_reader.read_smaps_rollup(tree, tgid), row["process.smaps_rollup"])
                        for tgid, row in file.processes.items()}
                self.assert_none([f"{kernel} {tgid}: {why}" for tgid, why in whys.items() if why])

    def test_cgroups_equal(self):
        for kernel in harness.kernels():
            cgroups = plain_cgroups.Cgroups(harness.fixture(kernel))
            for plugin in ("cgroup", "psi"):
                with self.subTest(kernel=kernel, plugin=plugin):
                    _, file = self.capture_recorded(kernel)
                    differences = []
                    for path, row in file.cgroups_by_path().items():
                        expected = cgroups.row(path, plugin)
                        differences += row_differences(f"{kernel} {path}", expected, row)
                        differences += uncovered_columns(expected, row, file.columns_of("cgroup", plugin))
                    self.assert_none(differences)

    def test_every_cgroup_of_a_thread_is_captured(self):
        for kernel in harness.kernels():
            with self.subTest(kernel=kernel):
                tree, file = self.capture_recorded(kernel)
                paths = {plain_reader.cgroup_of(tree.read(f"{tgid}/task/{tid}/cgroup")) for tgid, tid in tree.threads()}
                paths = {path for path in paths if isinstance(path, bytes)}
                ancestors = {b"/", b"/ctp.slice"} if paths else set()
                self.assertEqual(set(file.cgroups_by_path()), paths | ancestors)

    def test_the_host_equals(self):
        for kernel in harness.kernels():
            for plugin in ("psi", "sched_ext"):
                with self.subTest(kernel=kernel, plugin=plugin):
                    _, file = self.capture_recorded(kernel)
                    expected = plain_cgroups.read_host(harness.fixture(kernel), plugin)
                    self.assert_none(row_differences(kernel, expected, file.host))

    def test_names_are_unchanged(self):
        """Lists the hostile names by hand, in case both readers make the same mistake."""
        for kernel in ("5.10", "6.1", "6.12", "6.18", "6.18-arm64", "7.2"):
            with self.subTest(kernel=kernel):
                _, file = self.capture_recorded(kernel)
                names = {row["comm"] for row in file.threads.values()}
                lacking = {b"a b) S (c", b"tab\tnl\nbs\\x", b"\xc3\xa9\xff", b"ctp-zombie"} - names
                self.assertEqual(lacking, set(), f"lost: {lacking}")


if __name__ == "__main__":
    harness.main()
