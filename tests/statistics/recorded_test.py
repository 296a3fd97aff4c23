"""Recorded runs of two sides, compared once more: silence where nothing differed, a voice where something did, and no claim of single runs."""

import json
import pathlib
import shutil
import tempfile
import unittest
import unittest.mock

import recorded
import soak_sure

HERE = pathlib.Path(__file__).resolve().parent


class Recorded(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="recorded-")
        self.addCleanup(place.cleanup)
        self.runs = pathlib.Path(place.name)

    def unpack(self, kind):
        recorded.unpack(HERE / "recorded" / f"{kind}.tar.xz", self.runs)
        for side in ("a", "b"):
            self.assertEqual(len(list((self.runs / side).iterdir())), max(soak_sure.PAIRS))

    def compared(self, pairs):
        soak_sure.keep_pairs(self.runs, pairs)
        told = soak_sure.compared(self.runs)
        self.assertGreaterEqual(len(told["screen"]["rows"]), 5)
        return told

    def test_silence(self):
        self.unpack("silence")
        for pairs in soak_sure.PAIRS:
            self.assertEqual(soak_sure.proven(self.compared(pairs)), [])

    def test_voices(self):
        for kind in soak_sure.HEARD_IN:
            self.unpack(kind)
            for pairs in soak_sure.PAIRS:
                with self.subTest(kind=kind, pairs=pairs):
                    told = self.compared(pairs)
                    self.assertTrue(soak_sure.is_heard(told, kind), soak_sure.proven(told))
            for side in ("a", "b"):
                for file in (self.runs / side).iterdir():
                    file.unlink()

    def test_a_series_goes_on_where_it_was_interrupted(self):
        """A recording whose comparisons are not all kept is made again; nothing is recorded where all are there."""
        results = self.runs / "results"
        lines = [json.dumps({"kind": "silence", "pairs": pairs, "found": number == 0, "proven": ""}) for number in range(3) for pairs in soak_sure.PAIRS]
        results.write_text("\n".join(lines[:-1]) + "\n")
        self.unpack("silence")
        made = []

        def record(runs, kind, _):
            made.append(kind)
            shutil.copytree(self.runs, runs, ignore=shutil.ignore_patterns("results"))
        with unittest.mock.patch.object(soak_sure, "record", record):
            self.assertEqual(soak_sure.soak(["silence"], 3, results), 1)  # 1 of 3 found is more than 5 of 40
            self.assertEqual(made, ["silence"])
            self.assertEqual(len(results.read_text().splitlines()), len(lines) + 1)
            self.assertEqual(soak_sure.soak(["silence"], 3, results), 1)
        self.assertEqual(made, ["silence"])

    def test_single_runs_make_no_claim(self):
        for kind in soak_sure.HEARD_IN:
            with self.subTest(kind):
                self.unpack(kind)
                soak_sure.keep_pairs(self.runs, 1)
                told = soak_sure.compared(*[next((self.runs / side).iterdir()) for side in ("a", "b")])
                self.assertGreaterEqual(len(told["screen"]["rows"]), 5)
                for row in told["screen"]["rows"]:
                    self.assertFalse(row.get("proven"))
                    for side in [side for figure in row["figures"] for side in figure]:
                        self.assertFalse({"p", "low", "high", "proven"} & {key for key, value in side.items() if value is not None}, row)


unittest.main()
