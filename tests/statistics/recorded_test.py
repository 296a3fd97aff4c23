"""Compares recorded runs of two sides: no findings without a difference, a finding with one, and no test of single runs."""

import json
import pathlib
import shutil
import tempfile
import unittest
import unittest.mock

import recorded
import soak_power  # makes the modules of tests/recompute available
import significance
import soak_significance

HERE = pathlib.Path(__file__).resolve().parent


class RecordedComparisons(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="recorded-")
        self.addCleanup(directory.cleanup)
        self.runs = pathlib.Path(directory.name)

    def unpack(self, kind):
        recorded.unpack(HERE / "recorded" / f"{kind}.tar.xz", self.runs)
        for side in ("a", "b"):
            self.assertEqual(len(list((self.runs / side).iterdir())), max(soak_significance.PAIRS))

    def compare_pairs(self, pairs):
        soak_significance.keep_pairs(self.runs, pairs)
        report = soak_significance.compare_runs(self.runs)
        self.assertGreaterEqual(len(report["screen"]["rows"]), 5)
        return report

    def test_no_difference_is_not_significant(self):
        self.unpack("equal")
        for pairs in soak_significance.PAIRS:
            self.assertEqual(soak_significance.significant_rows(self.compare_pairs(pairs)), [])

    def test_each_difference_is_detected(self):
        for kind in soak_significance.DETECTED_IN:
            self.unpack(kind)
            for pairs in soak_significance.PAIRS:
                with self.subTest(kind=kind, pairs=pairs):
                    report = self.compare_pairs(pairs)
                    self.assertTrue(soak_significance.is_detected(report, kind), soak_significance.significant_rows(report))
            for side in ("a", "b"):
                for file in (self.runs / side).iterdir():
                    file.unlink()

    def test_an_interrupted_series_continues(self):
        """Records only what is missing, and nothing if all results exist."""
        results = self.runs / "results"
        lines = [json.dumps({"kind": "equal", "significant": {str(pairs): ["sh %CPU"] * (number == 0) for pairs in soak_significance.PAIRS}})
                 for number in range(2)]
        results.write_text("\n".join(lines) + "\n")
        self.unpack("equal")
        recorded_kinds = []

        def record(runs, kind, _):
            recorded_kinds.append(kind)
            shutil.copytree(self.runs, runs, ignore=shutil.ignore_patterns("results"))
        with unittest.mock.patch.object(soak_significance, "record", record):
            self.assertEqual(soak_significance.soak_equal(3, results), 1)  # 1 of 3 is more than 5 of 40
            self.assertEqual(recorded_kinds, ["equal"])
            self.assertEqual(len(results.read_text().splitlines()), len(lines) + 1)
            self.assertEqual(soak_significance.soak_equal(3, results), 1)
        self.assertEqual(recorded_kinds, ["equal"])

    def measure_power(self, totals):
        """Returns the result of soak_power.py for the recorded difference of work, with the totals that the service would report."""
        self.unpack("work")
        soak_significance.keep_pairs(self.runs, soak_power.PAIRS)
        with unittest.mock.patch.object(soak_significance, "record", lambda *_, **options: totals), tempfile.TemporaryDirectory() as directory:
            shutil.copytree(self.runs, pathlib.Path(directory) / "runs")
            return soak_power.measure("work", pathlib.Path(directory))

    def test_power_is_measured_with_the_totals_of_the_service(self):
        """A line ends a condition: time, CPU time, faults, switches, blocked time. Here b has 20 % more CPU time, and 50 % more switches."""
        result = self.measure_power("- 100 0 0 0 0\na 1100 1000 10 100 500\nb 2100 2200 20 250 1000\na 4100 4200 40 450 2000\n")
        self.assertAlmostEqual(result["truth"], 0.2)
        self.assertTrue(result["detected"] and result["detected_alone"])
        self.assertEqual((result["inside"]["%CPU"], result["inside"]["vcsw/s"], result["wrong"]), (True, False, 0))
        self.assertGreater(result["computed"], 1000)
        self.assertTrue(soak_power.limits_are_met([{**result, "inside": {"%CPU": True}}]))
        self.assertFalse(soak_power.limits_are_met([result]))
        self.assertFalse(soak_power.limits_are_met([{**result, "inside": {"%CPU": True}, "wrong": 1}]))
        missed = {"deviation": 0.01, "detected": False}
        self.assertFalse(soak_power.limits_are_met([{**result, "inside": {"%CPU": True}, **missed}]))

    def test_simulated_power_depends_on_the_deviation_of_pairs(self):
        design = significance.Design(soak_power.PAIRS, soak_power.PAIRS, True)
        powers = [soak_power.draw_detected(design, [8.0] * len(design.labellings), 0.0001, deviation, 0.18, 0.05) for deviation in (0.01, 0.05, 0.5)]
        self.assertEqual(powers[0], 1)
        self.assertTrue(0.4 < powers[1] < 0.95 and powers[2] < 0.02, powers)

    def test_single_runs_are_not_tested(self):
        for kind in soak_significance.DETECTED_IN:
            with self.subTest(kind):
                self.unpack(kind)
                soak_significance.keep_pairs(self.runs, 1)
                report = soak_significance.compare_runs(*[next((self.runs / side).iterdir()) for side in ("a", "b")])
                self.assertGreaterEqual(len(report["screen"]["rows"]), 5)
                for row in report["screen"]["rows"]:
                    self.assertFalse(row.get("proven"))
                    for side in [side for figure in row["figures"] for side in figure]:
                        self.assertFalse({"p", "low", "high", "proven"} & {key for key, value in side.items() if value is not None}, row)


unittest.main()
