#!/usr/bin/python3
"""Tests the effect of each option of `record` on the parameters of recorders, which the plugin `reports_window` (bad/) prints, and on the window of a
sleeping process.

Environment: CTPROF, BAD_PLUGINS. TESTED_ELSEWHERE names the tests of all other options."""

import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "parity"))
import harness  # noqa: E402

BAD_PLUGINS = os.environ["BAD_PLUGINS"]
DEFAULTS = {"pids": "1", "cgroups": "0", "freq": "99", "passes": "9", "period": "1000000", "budget": "0", "depth": "0", "user": "2", "stack": "0",
         "ring": "0", "flags": "24"}

# Option -> arguments, and the parameters of the window that they change.
RECORDER_OPTIONS = {
    "freq": (("--freq", "997"), {"freq": "997"}),
    "sleepers-freq": (("--sleepers-freq", "31"), {"passes": "31"}),
    "offcpu-period": (("--offcpu-period", "250us"), {"period": "250000"}),
    "offcpu-stacks": (("--offcpu-stacks", "every"), {"flags": "30"}),
    "budget": (("--budget", "0.5%"), {"budget": "5000"}),
    "max-depth": (("--max-depth", "300"), {"depth": "300"}),
    "unwind": (("--unwind", "fp"), {"user": "1", "flags": "8"}),
    "stack-bytes": (("--stack-bytes", "4K"), {"stack": "4096"}),
    "ring": (("--ring", "64K"), {"ring": "65536"}),
    "no-inherit": (("--no-inherit",), {"flags": "16"}),
}

# Option -> a test that contains the option and checks its effect.
TESTED_ELSEWHERE = {
    "cgroup": "record/record_test.py",
    "debug-dir": "record/symbolize_test.py",
    "dry-run": "record/archive_test.py",
    "emit": "outputs/emit_live_test.py",
    "every": "record/archive_test.py",
    "force": "cli/force.case",
    "inlines": "record/symbolize_test.py",
    "interleave": "cli/interleave_live.case",
    "jobs": "cli/capture.case",
    "keep": "record/archive_test.py",
    "max-size": "record/archive_test.py",
    "no-inherit": "record/inherit_test.py",
    "no-sync": "record/recording.py",
    "repeat": "record/repeat_test.py",
    "set": "cli/usage.case",
    "stack-bytes": "record/recorders_test.py",
    "strict": "cli/strict_live.case",
    "unwind": "record/recorders_test.py",
}


class OptionEffects(unittest.TestCase):
    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.file = pathlib.Path(scratch.name) / "it.ctprof.zst"
        self.process = self.sleeper()

    def sleeper(self):
        """Starts a process that waits until its input ends."""
        process = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
        self.addCleanup(process.communicate)
        return process.pid

    def record(self, *words, of=None):
        command = [harness.CTPROF, "record", "-d", "1ms", "--no-sync", "--force", "-o", self.file, "--plugins", "reports_window,procfs-sched",
                   "--plugin-path", BAD_PLUGINS, "--pid", of or str(self.process), *words]
        finished = subprocess.run(command, capture_output=True, text=True, timeout=harness.TIMEOUT, check=False)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return finished

    def lines(self):
        text = subprocess.run(["zstd", "-dcq", self.file], check=True, capture_output=True).stdout
        return [json.loads(line) for line in text.splitlines()]

    def columns(self, entity="thread"):
        return next(line["columns"] for line in self.lines() if line["kind"] == "table" and line["entity"] == entity)

    def record_window_parameters(self, *words, **more):
        """Records a window, and returns the parameters that the recorder received."""
        finished = self.record("--recorders", "reports_window", *words, **more)
        found = re.search(r"window: (.*)", finished.stderr)
        self.assertIsNotNone(found, finished.stderr)
        pairs = dict(re.findall(r"(\w+) (\d+)", found[1]))
        self.assertEqual(pairs.pop("first"), str(self.process))
        return pairs

    def test_options_of_recorders_reach_them(self):
        self.assertEqual(self.record_window_parameters(), DEFAULTS)
        for option, (words, changed) in RECORDER_OPTIONS.items():
            with self.subTest(option):
                self.assertEqual(self.record_window_parameters(*words), DEFAULTS | changed)

    def test_offcpu_stacks_has_three_values(self):
        flags = {form: self.record_window_parameters("--offcpu-stacks", form)["flags"] for form in ("blocked", "all", "every")}
        self.assertEqual(flags, {"blocked": "24", "all": "28", "every": "30"})

    def test_pid_limits_rows_and_recorders(self):
        other = self.sleeper()
        self.assertEqual(self.record_window_parameters(of=f"{self.process},{other}")["pids"], "2")
        self.assertEqual(set(self.columns()["tgid"]), {self.process, other})
        self.record_window_parameters()
        self.assertEqual(set(self.columns()["tgid"]), {self.process})

    def test_runs_only_named_recorders(self):
        self.assertNotIn("window:", self.record().stderr)

    def test_metrics_select_columns(self):
        self.record()
        self.assertIn("policy", self.columns())
        self.record("--metrics", "run_time_ns")
        self.assertIn("run_time_ns", self.columns())
        self.assertNotIn("policy", self.columns())

    def test_level_full_adds_expensive_metrics(self):
        for level, left_out in (("fast", ["process.smaps_rollup"]), ("full", [])):
            self.record("--level", level)
            self.assertEqual(self.lines()[0]["ctprof"].get("left_out"), left_out)

    def test_no_hostname_omits_it(self):
        self.record()
        self.assertIn("hostname", self.lines()[0]["ctprof"])
        self.record("--no-hostname")
        self.assertNotIn("hostname", self.lines()[0]["ctprof"])

    def test_loads_only_named_plugins(self):
        self.record()
        self.assertNotIn('"task-iter"', json.dumps(self.lines()[0]))

    def test_returns_the_status_of_the_command(self):
        for script, status in (("exit 7", 7), ("kill -9 $$", 137)):
            command = [harness.CTPROF, "record", "--no-sync", "--force", "-o", self.file, "--plugins", "procfs-sched", "--", "sh", "-c", script]
            finished = subprocess.run(command, capture_output=True, text=True, timeout=harness.TIMEOUT, check=False)
            self.assertEqual(finished.returncode, status, finished.stderr)

    def test_every_option_has_a_test_of_its_effect(self):
        text = subprocess.run([harness.CTPROF, "help", "record"], check=True, capture_output=True, text=True).stdout
        options = set(re.findall(r"(?m)^  (?:-\w \[ )?--([a-z-]+)", text))
        self.assertIn("max-depth", options)
        here = set(RECORDER_OPTIONS) | {"pid", "metrics", "level", "no-hostname", "plugins", "plugin-path", "recorders", "output", "duration"}
        self.assertEqual(options - here - set(TESTED_ELSEWHERE) - COMMON_OPTIONS, set())
        for option, test in TESTED_ELSEWHERE.items():
            with self.subTest(option):
                self.assertIn(f"--{option}", (TESTS / test).read_text(encoding="utf-8"))


# Options of every command; tests/cli tests them.
COMMON_OPTIONS = {"color", "format", "help", "no-pager", "quiet", "verbose", "version"}


if __name__ == "__main__":
    unittest.main()
