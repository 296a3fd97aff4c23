#!/usr/bin/python3
"""Recomputes every value that `show` and `compare` print for recorded captures from the files.

recorded.tar.xz contains windows, snapshots, runs and an archive, recorded while the programs of load.py ran. Other conditions are
created by editing copies: groups that are missing in some runs, other boots, and derived metrics in a file's registry.
"""

import os
import shutil
import tempfile
import unittest

import product
import recordings
from cases import DERIVED, FORMATS, LOADED, Compare, Show, make_sides
from export_check import check_ids, check_perfetto, check_pprof
from file_check import check_group_times, check_times
from grouping import AXES
from tally import Tally


class Recompute(unittest.TestCase):
    longMessage = False

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="recompute-")
        cls.addClassCleanup(cls.scratch.cleanup)
        recordings.unpack(cls.scratch.name)
        cls.total = Tally()
        cls.addClassCleanup(lambda: print("\n".join(cls.total.lines())))

    def setUp(self):
        self.tally = Tally()

    def tearDown(self):
        self.total.add(self.tally)

    def path(self, name):
        plain = os.path.join(self.scratch.name, name)
        return plain if os.path.isdir(plain) else plain + ".ctprof.zst"

    def files(self, name):
        return sorted(os.path.join(self.path(name), file) for file in os.listdir(self.path(name)) if file.endswith(".zst"))

    def edit_file(self, name, change, into):
        product.edit(self.path(name), self.path(into), change)
        return self.path(into)

    def assert_same(self):
        self.assertGreater(sum(self.tally.checked.values()), 0)
        self.assertFalse(self.tally.differ, "\n" + "\n".join(self.tally.lines()))

    # ---- one window or snapshot -------------------------------------------------------------------------------------------

    def test_window(self):
        for axis in AXES:
            Show(self.path("window")).check(self.tally, axis, FORMATS if axis in ("pcomm", "all") else ("json",))
        self.assert_same()

    def test_window_with_expensive_metrics(self):
        Show(self.path("full"), derive=DERIVED).check(self.tally, "cgroup")
        self.assert_same()

    def test_window_without_bpf(self):
        Show(self.path("without-bpf")).check(self.tally, "pcomm")
        self.assert_same()

    def test_window_of_an_older_version(self):
        """Without the rows that only the opening has, the change of a group with an exited process is unknown."""
        def change(lines):
            lines[1].pop("opening_only", None)
            return [line for line in lines if line["kind"] != "opening"]
        Show(self.edit_file("window", change, "older")).check(self.tally, "pcomm")
        self.assertGreater(sum(count for kind, count in self.tally.checked.items() if "unknown in this file" in kind), 0)
        self.assert_same()

    def test_window_with_call_stacks(self):
        Show(self.path("stacks")).check(self.tally, "comm", ("json", "csv"))
        self.assert_same()

    def test_literal_names(self):
        Show(self.path("window"), words=["--no-thread-normalize", "--no-cg-normalize"]).check(self.tally, "pcomm", ("json",))
        Show(self.path("window"), words=["--no-cg-normalize"]).check(self.tally, "cgroup", ("json",))
        Show(self.path("window"), words=["--cgroup-flatten", "/*/job-*"]).check(self.tally, "cgroup", ("json",))
        self.assert_same()

    def test_snapshot(self):
        for axis in ("pcomm", "cgroup", "all"):
            Show(self.path("before"), derive=DERIVED[:4]).check(self.tally, axis, ("json", "csv", "details"))
        self.assert_same()

    # ---- A..B, archives -------------------------------------------------------------------------------------------------------

    def pair(self):
        return f"{self.path('before')}..{self.path('after')}"

    def test_pair_of_snapshots(self):
        for axis in ("pcomm", "cgroup", "all"):
            Show(self.pair()).check(self.tally, axis)
        Compare([self.pair()], [self.path("window")]).check(self.tally, "pcomm")
        self.assert_same()

    def test_archive(self):
        for axis in ("pcomm", "cgroup"):
            Show(self.path("archive"), derive=DERIVED[:3]).check(self.tally, axis)
        self.assert_same()

    # ---- files and exports --------------------------------------------------------------------------------------------------------

    def test_times_of_threads_do_not_exceed_their_windows(self):
        for name in ("window", "full", "without-bpf"):
            check_times(self.tally, name, LOADED.spans(self.path(name))[0])
        report = product.run_json("show", self.pair(), "--details")
        runs = LOADED.spans(self.pair())
        check_group_times(self.tally, "before..after", report, make_sides([runs], False, "pcomm")[0])
        self.assert_same()

    def test_ids_of_exported_rows_are_unique(self):
        for name in (self.path("window"), self.path("stacks"), self.pair()):
            check_ids(self.tally, name)
        self.assert_same()

    def test_exported_stacks_have_times(self):
        span = LOADED.spans(self.path("stacks"))[0]
        check_pprof(self.tally, self.path("stacks"), span)
        check_perfetto(self.tally, self.path("stacks"), span)
        self.assert_same()

    # ---- evidence -------------------------------------------------------------------------------------------------------------------

    def test_tested_rows_come_first(self):
        """Rows without a p value never precede rows of their section that have one."""
        changed = []
        for number, file in enumerate(self.files("runs")):
            changed.append(os.path.join(self.scratch.name, f"changed-{number}.ctprof.zst"))
            product.edit(file, changed[-1], product.rename({"other": "churn"}))
        rows = product.run_json("compare", *self.files("runs"), "--vs", *changed, "--details")["rows"]
        self.assertTrue(any(row["p"] is not None for row in rows))
        for before, row in zip(rows, rows[1:]):
            is_right = before["section"] != row["section"] or before["p"] is not None or row["p"] is None
            self.tally.judge("order of tested rows", (row["section"], row["group"], row["metric"]), is_right, "after an untested row", "before it")
        self.assert_same()

    def test_commands_accept_an_interleaved_directory(self):
        directory = os.path.join(self.scratch.name, "interleaved")
        for number, file in enumerate(self.files("runs")):
            side = os.path.join(directory, "ab"[number % 2])
            os.makedirs(side, exist_ok=True)
            shutil.copy(file, side)
        into = os.path.join(self.scratch.name, "out")
        for words in (("compare", directory), ("report", directory, "-o", into + ".html"), ("export", directory, "--to", "ndjson", "-o", into + ".ndjson")):
            finished = product.status(*words)
            self.tally.check("an interleaved directory is accepted", (words[0],), finished, 0)
        self.assert_same()

    # ---- sides ------------------------------------------------------------------------------------------------------------------

    def sides(self, absent, runs):
        """Returns `runs` copies of recorded runs; the group churn is missing in the first `absent` of them."""
        files = self.files("runs")[:runs]
        for at in range(absent):
            into = os.path.join(self.scratch.name, f"absent-{at}-of-{runs}.ctprof.zst")
            product.edit(files[at], into, product.rename({"churn": "other", "true": "other"}))
            files[at] = into
        return files

    def test_group_missing_in_some_runs(self):
        """Tests even and odd numbers of runs, and a group that is missing in one, half, or all but one of them."""
        for runs, absent in ((2, 1), (3, 1), (4, 2), (4, 3), (6, 3), (5, 4)):
            with self.subTest(runs=runs, absent=absent):
                formats = FORMATS if (runs, absent) == (4, 2) else ("json", "screen") if absent < 3 else ("json",)
                Compare(self.sides(absent, runs), self.files("runs")[6 - min(runs, 3):]).check(self.tally, "pcomm", formats)
        self.assert_same()

    def test_directory_of_runs(self):
        Show(self.path("runs"), derive=DERIVED).check(self.tally, "pcomm")
        Show(self.path("runs")).check(self.tally, "cgroup", ("json",))
        self.assert_same()

    def test_sides_with_derived_metrics(self):
        Compare(self.files("runs")[:3], self.files("runs")[3:], derive=DERIVED).check(self.tally, "all", ("json",))
        self.assert_same()

    def test_windows_of_different_lengths(self):
        """Derived counters become rates over the length of each window, like other counters."""
        Compare([self.path("window")], [self.files("runs")[0]], derive=DERIVED).check(self.tally, "pcomm")
        self.assert_same()

    def test_three_sides(self):
        files = self.files("runs")
        Compare(files[:1], files[1:2], files[2:3]).check(self.tally, "pcomm", ("json",))
        self.assert_same()

    # ---- lifetimes ----------------------------------------------------------------------------------------------------------------

    def test_lifetimes_of_one_boot(self):
        Compare([self.path("before")], [self.path("after")], words=["--lifetime"]).check(self.tally, "pcomm", ("json", "csv"))
        self.assert_same()

    def test_lifetimes_of_different_boots(self):
        """Per second of age: the group's total divided by the age of its oldest thread, with one old busy process and young idle ones."""
        other = self.edit_file("hog", product.on_another_boot, "other-boot")
        Compare([self.path("before")], [other]).check(self.tally, "pcomm", ("json", "csv"))
        Compare([self.path("hog")], [other]).check(self.tally, "pcomm", ("json",))
        self.assert_same()

    # ---- derived metrics of a registry -------------------------------------------------------------------------------------------

    def test_derived_metric_over_two_entities(self):
        change = product.add_derived("test_rss_per_switch", "rss_bytes / nr_threads", "bytes", "gauge")
        Show(self.edit_file("window", change, "two-entities")).check(self.tally, "pcomm", ("json",))
        self.assert_same()

    def test_level_of_counters(self):
        """A difference of counters that is declared a level is computed from their totals at both ends."""
        change = product.add_derived("test_unread", "wchar - rchar", "bytes", "gauge")
        Show(self.edit_file("window", change, "level")).check(self.tally, "pcomm", ("json",))
        self.assert_same()

    def test_sum_of_counters_is_a_counter(self):
        """Independent of its declared family, it is a rate in sides with several windows."""
        change = product.add_derived("test_switches", "voluntary_csw + nonvoluntary_csw", "count", "gauge")
        Compare([self.edit_file("window", change, "sum-a")], [self.edit_file("stacks", change, "sum-b")]).check(self.tally, "pcomm", ("json",))
        self.assert_same()


if __name__ == "__main__":
    unittest.main()
