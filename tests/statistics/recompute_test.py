"""Recomputes every p, interval, family and row order of whole reports of recorded runs from their JSON."""

import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "recompute"))

import text_page_agreement
import significance
import recorded
import soak_significance


def run(*words):
    return subprocess.run([soak_significance.CTPROF, *words], stdout=subprocess.PIPE, text=True, check=True).stdout


KINDS = ("equal", *soak_significance.DETECTED_IN)


class RecomputedStatistics(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="recompute-")
        self.addCleanup(directory.cleanup)
        self.runs = pathlib.Path(directory.name)
        self.differences, self.count = [], 0

    def judge(self, what, where, is_right, found, expected):
        self.count += 1
        if not is_right:
            self.differences.append(f"{what} of {where}: ctprof reports {found}, recomputed {expected}")

    def check(self, report, minimum):
        significance.check(report, self.judge)
        self.assertEqual(self.differences[:20], [])
        self.assertGreater(self.count, minimum)

    def compare_recorded(self, kind, *options, pairs=None):
        recorded.unpack(HERE / "recorded" / f"{kind}.tar.xz", self.runs)
        soak_significance.keep_pairs(self.runs, pairs or max(soak_significance.PAIRS))
        return soak_significance.compare_runs(self.runs, *options)

    def test_pairs(self):
        for kind in KINDS:
            with self.subTest(kind=kind):
                self.check(self.compare_recorded(kind, pairs=min(soak_significance.PAIRS)), 1000)

    def test_about_and_least_shift(self):
        report = self.compare_recorded("work", "--about", "planted", "--min-shift", "5%", "--alpha", "0.1")
        self.assertTrue(report["evidence"][0]["about"]["headlines"])
        self.check(report, 1000)

    def test_sides_in_any_order(self):
        """Compares without pairs."""
        self.compare_recorded("moved")
        runs = sorted(self.runs.glob("[ab]/*"))
        # The runs of one side, here 3 + 5 of them, are not paired.
        report = soak_significance.compare_runs(*runs[:3], "--vs", *runs[3:8], "--metrics", "run_time_ns,page_faults")
        self.assertFalse(report["evidence"][0]["paired"])
        self.check(report, 100)

    def test_a_sample_of_labellings(self):
        self.compare_recorded("moved")
        before, after = ([*sorted((self.runs / side).iterdir())] for side in ("a", "b"))
        report = soak_significance.compare_runs(*before, *before[:3], "--vs", *after, *after[:2], "--metrics", "run_time_ns")
        self.assertEqual((report["evidence"][0]["paired"], report["evidence"][0]["all_labellings"]), (False, False))
        self.check(report, 100)

    def test_text_and_page_agree(self):
        """Compares the values of a page with the first screen: the cells, the largest shift of each row and its interval."""
        for kind in KINDS:
            with self.subTest(kind=kind):
                self.compare_recorded(kind)
                text = run("compare", self.runs, "--limit", "0")
                page = self.runs / "page.html"
                run("report", "-q", self.runs, "-o", page)
                self.assertGreater(text_page_agreement.compare(text, page.read_text(), self.assertTrue), 60)
                page.unlink()

    def test_a_wrong_figure_is_found(self):
        """Verifies the recomputation itself: every changed value must cause a difference."""
        report = self.compare_recorded("work", pairs=min(soak_significance.PAIRS))
        row = next(row for row in report["evidence"][0]["headlines"] if row["proven"])
        for part, wrong in (("p", 0.5), ("p_alone", 0.5), ("shift", row["shift"] * 1.001), ("low", row["low"] + 0.001), ("high", row["high"] + 0.001),
                            ("proven", False), ("floor", row["floor"] * 2)):
            with self.subTest(part=part):
                changed = copy.deepcopy(report)
                next(row for row in changed["evidence"][0]["headlines"] if row["proven"])[part] = wrong
                self.differences = []
                significance.check(changed, self.judge)
                self.assertTrue(self.differences)
        for name in ("headlines", "details"):
            changed = copy.deepcopy(report)
            changed["evidence"][0][name].pop()
            self.differences = []
            significance.check(changed, self.judge)
            self.assertTrue(self.differences)
        changed = copy.deepcopy(report)
        changed["screen"]["rows"].reverse()
        self.differences = []
        significance.check(changed, self.judge)
        self.assertTrue(self.differences)


unittest.main()
