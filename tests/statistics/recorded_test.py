"""Compares recorded runs of two sides: no findings without a difference, a finding with one, and no test of single runs."""

import json
import pathlib
import shutil
import tempfile
import unittest
import unittest.mock

import recorded
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
        """Repeats a recording if the results of some of its comparisons are missing; records nothing if all results exist."""
        results = self.runs / "results"
        lines = [json.dumps({"kind": "equal", "pairs": pairs, "found": number == 0, "proven": ""}) for number in range(3) for pairs in soak_significance.PAIRS]
        results.write_text("\n".join(lines[:-1]) + "\n")
        self.unpack("equal")
        recorded_kinds = []

        def record(runs, kind, _):
            recorded_kinds.append(kind)
            shutil.copytree(self.runs, runs, ignore=shutil.ignore_patterns("results"))
        with unittest.mock.patch.object(soak_significance, "record", record):
            self.assertEqual(soak_significance.soak(["equal"], 3, results), 1)  # 1 of 3 is more than 5 of 40
            self.assertEqual(recorded_kinds, ["equal"])
            self.assertEqual(len(results.read_text().splitlines()), len(lines) + 1)
            self.assertEqual(soak_significance.soak(["equal"], 3, results), 1)
        self.assertEqual(recorded_kinds, ["equal"])

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
