#!/usr/bin/python3
"""`export --to otlp`: the request that a receiver gets, decoded without the library that ctprof uses, and receivers that fail.

    CTPROF=... PYTHON_MODULE=sdk/python otlp_test.py
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from protobuf_wire import read_metrics
from receiver import Receiver, closed_endpoint

CTPROF = os.environ["CTPROF"]
sys.path.append(os.environ["PYTHON_MODULE"])
import ctprof_testing as testing  # noqa: E402


def make_tree(run_ns, faults):
    stat = testing.STAT.format(tgid=7, tid=7).replace("(work)", "(w\u00f6rk)").replace(" 4194560 0 ", f" 4194560 {faults} ")
    return testing.make_tree({(7, 7): {"comm": "w\u00f6rk\n", "stat": stat, "schedstat": f"{run_ns} 300 2\n"}},
                             {"proc/sys/kernel/random/boot_id": "5f0c1d2e-0000-4000-8000-000000000001\n"})


class Export(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        cls.here = pathlib.Path(cls.directory.name)
        for name, faults in {"before": 4000, "after": 9007199254740993}.items():
            with testing.Tree(make_tree(9007199254740993, faults)) as tree:
                testing.run("--rootfs", tree.path, "capture", "-q", "--layout", "columns", "-o", cls.here / f"{name}.ctprof.zst")

    def export(self, endpoint, *settings, file="after.ctprof.zst", more=()):
        words = [word for setting in (f"endpoint={endpoint}", *settings) for word in ("--set", f"otlp.{setting}")]
        return subprocess.run([CTPROF, "export", file, "--to", "otlp", *words, *more], cwd=self.here, capture_output=True, text=True, check=False)

    def read(self, file, *more):
        with Receiver() as receiver:
            finished = self.export(receiver.endpoint, file=file, more=more)
            self.assertEqual((finished.returncode, finished.stderr), (0, "ctprof: passed to output 'otlp'\n"))
            ((path, headers, body),) = receiver.requests
        self.assertEqual((path, headers["Content-Type"]), ("/v1/metrics", "application/x-protobuf"))
        return read_metrics(body)

    def test_snapshot_has_gauges(self):
        resource, metrics = self.read("after.ctprof.zst")
        self.assertEqual(resource["service.name"], "ctprof")
        run_time = metrics["ctprof.run_time_ns"]
        self.assertEqual((run_time["kind"], run_time["unit"]), ("gauge", "ns"))
        self.assertEqual([(point["attributes"], point["value"]) for point in run_time["points"]], [({"pcomm": "w\u00f6rk"}, 9007199254740993)])

    def test_window_has_cumulative_sums(self):
        _, metrics = self.read("before.ctprof.zst..after.ctprof.zst")
        faults = metrics["ctprof.page_faults"]
        self.assertEqual((faults["kind"], faults["unit"]), (("sum", 2, 1), "1"))
        (point,) = faults["points"]
        self.assertEqual(point["value"], 9007199254740993 - 4000)
        self.assertLess(point["start"], point["time"])
        threads = metrics["ctprof.thread_count"]
        self.assertEqual((threads["kind"], threads["unit"]), ("gauge", "1"))
        self.assertEqual({point["attributes"]["pcomm"]: point["value"] for point in threads["points"]}, {"w\u00f6rk": 1})

    def test_keys_with_labels_have_an_attribute_for_each(self):
        """The identity of a row of this plugin is an attribute `device`, too."""
        (self.here / "labels.so").symlink_to(pathlib.Path(os.environ["BAD_PLUGINS"], "labels.so"))
        with testing.Tree(make_tree(1, 2)) as tree:
            testing.run("--rootfs", tree.path, "--plugin-path", self.here, "capture", "-q", "-o", self.here / "labels.ctprof.zst")
        _, metrics = self.read("labels.ctprof.zst", "--entity", "labels_port", "--metrics", "labels_moved_bytes")
        found = {tuple(sorted(point["attributes"].items())): point["value"] for point in metrics["ctprof.labels_moved_bytes"]["points"]}
        expected = {("left", "sda", "read"): 100, ("left", "sda", "write"): 20, ("right", "sda", "read"): 101, ("right", "sda", "write"): 21,
                    ("right", "a,b", "100%"): 3}
        self.assertEqual(found, {(("device", port), ("direction", direction), ("key_device", device)): value
                                 for (port, device, direction), value in expected.items()})

    def test_header(self):
        with Receiver() as receiver:
            self.export(receiver.endpoint, "header=Authorization: Bearer t")
            self.assertEqual(receiver.requests[0][1]["Authorization"], "Bearer t")

    def test_receivers_that_fail(self):
        for behave, message in {500: "the server answers with status 500", "close": "Empty reply from server", 302: "the server answers with status 302"}.items():
            with self.subTest(behave), Receiver(behave) as receiver:
                finished = self.export(receiver.endpoint)
                self.assertEqual(finished.returncode, 2)
                self.assertEqual(finished.stderr, f"ctprof: exporting to 'otlp': posting to '{receiver.endpoint}': {message}\n")

    def test_receiver_that_hangs(self):
        with Receiver("hang") as receiver:
            finished = self.export(receiver.endpoint, "timeout-ms=50")
            self.assertEqual(finished.returncode, 2)
            self.assertIn("timed out", finished.stderr)

    def test_no_receiver(self):
        finished = self.export(closed_endpoint())
        self.assertEqual(finished.returncode, 2)
        self.assertIn("Couldn't connect to server", finished.stderr)

    def test_invalid_settings(self):
        for setting, message in {"endpoint=": "is not the URL of a server", "endpoint=file:///etc/passwd": "is not the URL of a server",
                                 "timeout-ms=0": "is not a number from 1 to 600000", "header=A: b\r\nC: d": "contains a line break"}.items():
            with self.subTest(setting):
                finished = self.export("http://127.0.0.1:1/", setting)
                self.assertEqual(finished.returncode, 2)
                self.assertIn(message, finished.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
