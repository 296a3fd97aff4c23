"""Every p, interval, family and place of whole reports of recorded runs, computed again from their JSON alone."""

import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "recompute"))

import agreement
import judged
import recorded
import soak_sure


def run(*words):
    return subprocess.run([soak_sure.CTPROF, *words], stdout=subprocess.PIPE, text=True, check=True).stdout


KINDS = ("silence", *soak_sure.HEARD_IN)


class Recomputed(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="recompute-")
        self.addCleanup(place.cleanup)
        self.runs = pathlib.Path(place.name)
        self.differ, self.count = [], 0

    def judge(self, what, where, is_right, found, expected):
        self.count += 1
        if not is_right:
            self.differ.append(f"{what} of {where}: the product has {found}, recomputed {expected}")

    def check(self, report, least):
        judged.check(report, self.judge)
        self.assertEqual(self.differ[:20], [])
        self.assertGreater(self.count, least)

    def compared(self, kind, *options, pairs=None):
        recorded.unpack(HERE / "recorded" / f"{kind}.tar.xz", self.runs)
        soak_sure.keep_pairs(self.runs, pairs or max(soak_sure.PAIRS))
        return soak_sure.compared(self.runs, *options)

    def test_pairs(self):
        for kind in KINDS:
            with self.subTest(kind=kind):
                self.check(self.compared(kind, pairs=min(soak_sure.PAIRS)), 1000)

    def test_about_and_least_shift(self):
        report = self.compared("work", "--about", "planted", "--min-shift", "5%", "--alpha", "0.1")
        self.assertTrue(report["evidence"][0]["about"]["headlines"])
        self.check(report, 1000)

    def test_sides_in_any_order(self):
        """Without pairs."""
        self.compared("moved")
        runs = sorted(self.runs.glob("[ab]/*"))
        # Runs of one side alone are not paired; 3 + 5.
        report = soak_sure.compared(*runs[:3], "--vs", *runs[3:8], "--metrics", "run_time_ns,page_faults")
        self.assertFalse(report["evidence"][0]["paired"])
        self.check(report, 100)

    def test_a_sample_of_labellings(self):
        self.compared("moved")
        before, after = ([*sorted((self.runs / side).iterdir())] for side in ("a", "b"))
        report = soak_sure.compared(*before, *before[:3], "--vs", *after, *after[:2], "--metrics", "run_time_ns")
        self.assertEqual((report["evidence"][0]["paired"], report["evidence"][0]["all_labellings"]), (False, False))
        self.check(report, 100)

    def test_text_and_page_agree(self):
        """Each figure of a page is that of the first screen: the cells, and beside what moved most the shift and its interval."""
        for kind in KINDS:
            with self.subTest(kind=kind):
                self.compared(kind)
                text = run("compare", self.runs, "--limit", "0")
                page = self.runs / "page.html"
                run("report", "-q", self.runs, "-o", page)
                self.assertGreater(agreement.compare(text, page.read_text(), self.assertTrue), 60)
                page.unlink()

    def test_a_wrong_figure_is_found(self):
        """The recomputation is no echo: each figure that is changed makes it differ."""
        report = self.compared("work", pairs=min(soak_sure.PAIRS))
        row = next(row for row in report["evidence"][0]["headlines"] if row["proven"])
        for part, wrong in (("p", 0.5), ("p_alone", 0.5), ("shift", row["shift"] * 1.001), ("low", row["low"] + 0.001), ("high", row["high"] + 0.001),
                            ("proven", False), ("floor", row["floor"] * 2)):
            with self.subTest(part=part):
                changed = copy.deepcopy(report)
                next(row for row in changed["evidence"][0]["headlines"] if row["proven"])[part] = wrong
                self.differ = []
                judged.check(changed, self.judge)
                self.assertTrue(self.differ)
        for name in ("headlines", "details"):
            changed = copy.deepcopy(report)
            changed["evidence"][0][name].pop()
            self.differ = []
            judged.check(changed, self.judge)
            self.assertTrue(self.differ)
        changed = copy.deepcopy(report)
        changed["screen"]["rows"].reverse()
        self.differ = []
        judged.check(changed, self.judge)
        self.assertTrue(self.differ)


unittest.main()
