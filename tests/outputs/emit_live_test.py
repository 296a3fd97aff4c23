#!/usr/bin/python3
"""`record --every --emit`: windows of this host reach the receiver, and receivers that fail cost no window.

    CTPROF=... emit_live_test.py
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).parent.parent / "parity"))
import concurrent_cases  # noqa: E402
from protobuf_wire import read_metrics  # noqa: E402
from receiver import Receiver, closed_endpoint  # noqa: E402

CTPROF, OUTPUTS = os.environ["CTPROF"], os.environ["OUTPUTS"]
WINDOWS = 3


class Emit(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.here = pathlib.Path(directory.name)

    def record(self, *words):
        return subprocess.run([CTPROF, "record", "--every", "1s", "-d", f"{WINDOWS}s", "-o", "run.ctprof.zst", *words],
                              cwd=self.here, capture_output=True, text=True, check=False)

    def assert_all_windows_are_stored(self, finished):
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertIn(f"{WINDOWS} windows; run.ctprof.zst", finished.stderr)

    def test_windows_reach_the_receiver(self):
        with Receiver() as receiver:
            finished = self.record("--emit", "otlp", "--set", f"otlp.endpoint={receiver.endpoint}")
            bodies = [body for _, _, body in receiver.requests]
        self.assert_all_windows_are_stored(finished)
        self.assertEqual(len(bodies), WINDOWS)
        sums = [read_metrics(body)[1]["ctprof.run_time_ns"] for body in bodies]
        points = [{point["attributes"]["pcomm"]: point for point in metric["points"]} for metric in sums]
        for name in set.intersection(*map(set, points)):
            series = [window[name] for window in points]
            self.assertEqual(len({point["start"] for point in series}), 1, name)
            self.assertEqual(series, sorted(series, key=lambda point: (point["time"], point["value"])), name)

    def test_receivers_that_fail_cost_no_window(self):
        for behave, message in {500: "the server answers with status 500", "close": "Empty reply from server", "hang": "lost when it ended"}.items():
            with self.subTest(behave), Receiver(behave) as receiver:
                finished = self.record("--emit", "otlp", "--set", f"otlp.endpoint={receiver.endpoint}", "--set", "otlp.timeout-ms=600000")
                self.assert_all_windows_are_stored(finished)
                self.assertIn(message, finished.stderr)

    def test_no_receiver(self):
        finished = self.record("--emit", "otlp", "--set", f"otlp.endpoint={closed_endpoint()}")
        self.assert_all_windows_are_stored(finished)
        self.assertEqual(finished.stderr.count("Couldn't connect to server"), 1)
        self.assertIn(f"output 'otlp': of {WINDOWS} windows, {WINDOWS} not delivered", finished.stderr)

    def test_plugin_that_crashes_costs_no_window(self):
        finished = self.record("--plugin-path", OUTPUTS, "--emit", "awkward", "--set", "awkward.mode=crash-put")
        self.assert_all_windows_are_stored(finished)
        self.assertEqual(finished.stderr.count("output 'awkward': its process ended with signal 6"), 1)

    def test_bytes_go_to_standard_output(self):
        finished = self.record("--plugin-path", OUTPUTS, "--emit", "awkward")
        self.assert_all_windows_are_stored(finished)
        self.assertEqual(finished.stdout, "window, 0 dropped before\n" * WINDOWS)


if __name__ == "__main__":
    concurrent_cases.main(jobs=3)
