#!/usr/bin/env python3
"""`ctprof fleet time` prints points in time as numbers. tests/unit/archive/time_text_test.cc tests the forms of the text."""

import json
import os
import subprocess
import unittest


def run_time(*words):
    return subprocess.run([os.environ["CTPROF"], "fleet", "time", *words], env={**os.environ, "TZ": "UTC-2"}, capture_output=True, text=True, check=False)


class Time(unittest.TestCase):
    def test_prints_ns_since_1970(self):
        for text, wanted in (("@1790000000", 1_790_000_000_000_000_000), ("2026-09-21 14:13:20Z", 1_790_000_000_000_000_000),
                             ("2026-09-21 16:13:20", 1_790_000_000_000_000_000)):
            with self.subTest(text):
                run = run_time(text)
                self.assertEqual((run.returncode, run.stderr), (0, ""))
                self.assertEqual(json.loads(run.stdout), {"unix_ns": wanted})

    def test_refuses_other_text(self):
        for words, why in ((["soon"], "is not a valid time"), ([""], "is not a valid time"), ([], "one point in time"), (["now", "now"], "one point in time")):
            with self.subTest(words):
                run = run_time(*words)
                self.assertEqual((run.returncode, run.stdout), (2, ""))
                self.assertIn(why, run.stderr)


unittest.main()
