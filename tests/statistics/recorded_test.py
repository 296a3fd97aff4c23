"""Recorded runs of two sides, compared once more: silence where nothing differed, a voice where something did, and no claim of single runs."""

import pathlib
import tempfile
import unittest

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
