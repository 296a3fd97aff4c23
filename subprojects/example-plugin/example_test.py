#!/usr/bin/python3
"""Captures two sleeping processes and a running one with the plugins, and checks their values in the file, in show and in compare.

    example_test.py CTPROF PLUGIN_DIR
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

CTPROF, PLUGIN_DIR = sys.argv[1:3]
METRICS = "example_wchan,examplec_util_avg"


def ctprof(*args):
    done = subprocess.run([CTPROF, "--plugin-path", PLUGIN_DIR, *args], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"ctprof {' '.join(args)}: status {done.returncode}\n{done.stderr}")
    return done.stdout


# Computes for 0.1 s, prints `ready`, and continues to compute.
RUNNER = """
import time
while time.process_time() < 0.1:
    pass
print("ready", flush=True)
while True:
    pass
"""


def start_sleeper():
    """Returns a stopped process, which wakes only if this test sends it a signal."""
    process = subprocess.Popen(["/bin/sleep", "600"])
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    return process


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sleeper, cls.other_sleeper = start_sleeper(), start_sleeper()
        cls.runner = subprocess.Popen([sys.executable, "-c", RUNNER], stdout=subprocess.PIPE)
        cls.runner.stdout.readline()
        cls.children = (cls.sleeper, cls.other_sleeper, cls.runner)
        cls.directory = tempfile.TemporaryDirectory()
        cls.file = str(pathlib.Path(cls.directory.name) / "all.ctprof.zst")
        pids = [word for child in cls.children for word in ("-p", str(child.pid))]
        ctprof("capture", "-o", cls.file, "--metrics", METRICS, *pids)
        text = subprocess.run(["zstd", "-dcq", cls.file], capture_output=True, check=True).stdout
        cls.rows = {row["tid"]: row for row in json.loads(text)["threads"]}

    @classmethod
    def tearDownClass(cls):
        for child in cls.children:
            child.kill()
            child.wait()
        cls.runner.stdout.close()
        cls.directory.cleanup()

    def test_sleeping_thread_has_the_function_that_the_kernel_reports(self):
        function = pathlib.Path(f"/proc/{self.sleeper.pid}/wchan").read_text()
        if not function[:1].isalpha():
            self.skipTest("this host does not report names of kernel functions")
        self.assertEqual(self.rows[self.sleeper.pid]["example_wchan"], function)

    def test_running_thread_has_no_function(self):
        self.assertNotIn("example_wchan", self.rows[self.runner.pid])

    def test_utilisation_is_at_most_1024(self):
        busy = self.rows[self.runner.pid]["examplec_util_avg"]
        self.assertTrue(0 < busy <= 1024, busy)
        self.assertLessEqual(self.rows[self.sleeper.pid]["examplec_util_avg"], 1024)

    def test_lists_the_metrics_of_all_plugins(self):
        listed = json.loads(ctprof("metric-list", "--format", "json"))["metrics"]
        plugin_of = {metric["name"]: metric["plugin"] for metric in listed}
        self.assertEqual(plugin_of.get("example_wchan"), "example")
        self.assertEqual(plugin_of.get("example_fault_stacks"), "example-fault")
        self.assertEqual(plugin_of.get("examplec_util_avg"), "examplec")

    def test_show_has_both_metrics(self):
        rows = json.loads(ctprof("show", self.file, "--format", "json"))["rows"]
        self.assertEqual({row["metric"] for row in rows if row["metric"].startswith("example")}, set(METRICS.split(",")))

    def test_rule_averages_over_a_group(self):
        rows = json.loads(ctprof("show", self.file, "--group-by", "comm-exact", "--format", "json"))["rows"]
        shown = {row["group"]: row["value"] for row in rows if row["metric"] == "examplec_util_avg"}
        for name, threads in (("sleep", 2), (self.rows[self.runner.pid]["comm"], 1)):
            kept = [row["examplec_util_avg"] for row in self.rows.values() if row["comm"] == name]
            self.assertEqual(len(kept), threads)
            self.assertAlmostEqual(shown[name], sum(kept) / threads)

    def test_comparison_with_itself_shows_no_difference(self):
        rows = json.loads(ctprof("compare", "--lifetime", self.file, self.file, "--format", "json"))["rows"]
        ours = [row for row in rows if row["metric"].startswith("example")]
        self.assertEqual(len({row["metric"] for row in ours}), 2)
        for row in ours:
            self.assertIn(row["delta"], (0, None, "same"), row)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
