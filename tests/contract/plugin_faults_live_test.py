#!/usr/bin/python3
"""Tests the time limits of plugins: delays that a plugin does not cause are not counted, and slow plugins are named during the call.

Environment: CTPROF, FIXTURES, BAD_PLUGINS; misbehaving.py describes the plugin. TEST_ROUNDS: repetitions of interrupted captures.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
import concurrent_cases  # noqa: E402
import file_json  # noqa: E402
import harness  # noqa: E402
from misbehaving import MisbehavingPlugin  # noqa: E402

ROUNDS = int(os.environ.get("TEST_ROUNDS", "3"))
LIMIT = 5  # seconds that a constructor or probe may take


class Crashes(MisbehavingPlugin):
    def setUp(self):
        if harness.is_sanitized():
            self.skipTest("a sanitizer has handlers of its own")

    def test_names_plugin_whose_signal_handler_crashes(self):
        (self.here / "slow").mkdir(exist_ok=True)
        shutil.copy(pathlib.Path(os.environ["BAD_PLUGINS"]) / "slow_thread.so", self.here / "slow")
        for _ in range(ROUNDS):
            finished = self.run_misbehaving("open_worker:alarm", "--plugin-path", str(self.here / "slow"), "capture", "-o", str(self.file))
            self.assertEqual(finished.returncode, -signal.SIGSEGV)
            self.assert_one_line_about_plugin(finished.stderr, "its code crashed outside of any call")


class TimeLimits(MisbehavingPlugin):
    def test_limit_ignores_time_while_stopped(self):
        process = subprocess.Popen(self.command("metric-list"), env=os.environ | {"MISBEHAVE": "constructor:three"},
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(1)
        process.send_signal(signal.SIGSTOP)
        time.sleep(LIMIT + 1)
        process.send_signal(signal.SIGCONT)
        _, error_output = process.communicate(timeout=harness.TIMEOUT)
        self.assertEqual((process.returncode, error_output), (0, ""))

    def test_limit_ignores_time_without_cpu(self):
        """Next to a busy process with a much higher priority, 100 ms of CPU time take more than 5 s."""
        if harness.is_sanitized():
            self.skipTest("the start of a sanitizer would take a minute")
        cpu = str(min(os.sched_getaffinity(0)))
        with harness.background_process("taskset", "-c", cpu, sys.executable, "-c", "while True: pass"):
            start = time.monotonic()
            finished = subprocess.run(["taskset", "-c", cpu, "nice", "-n", "19", *self.command("metric-list")], check=False, text=True,
                                      env=os.environ | {"MISBEHAVE": "constructor:compute"}, capture_output=True, timeout=harness.TIMEOUT)
            lasted = time.monotonic() - start
        self.assertEqual((finished.returncode, finished.stderr), (0, ""))
        self.assertGreater(lasted, LIMIT)

    def test_limit_ignores_time_of_disk_reads(self):
        with tempfile.NamedTemporaryFile(dir=pathlib.Path(harness.CTPROF).parent) as file:
            file.write(bytes(4096))
            file.flush()
            os.fsync(file.fileno())
            try:
                os.close(os.open(file.name, os.O_RDONLY | os.O_DIRECT))
            except OSError:
                self.skipTest("this file system does not support O_DIRECT")
            finished = self.run_misbehaving("constructor:read", "metric-list",
                                            env=os.environ | {"MISBEHAVE": "constructor:read", "MISBEHAVE_FILE": file.name})
        self.assertEqual((finished.returncode, finished.stderr), (0, ""))


class SlowPlugin(MisbehavingPlugin):
    def test_names_slow_plugin_during_the_call(self):
        finished = subprocess.run(["timeout", "-s", "KILL", "7", *self.command("capture", "-o", str(self.file))], check=False, text=True,
                                  env=os.environ | {"MISBEHAVE": "collect:hang"}, stderr=subprocess.PIPE, timeout=harness.TIMEOUT)
        words = f"ctprof: {self.library}: source 'actor' has been in collect for"
        self.assertEqual([line for line in finished.stderr.splitlines() if "misbehaving.so" in line], [f"{words} 2 s", f"{words} 4 s"])

    def test_capture_with_slow_plugin_is_complete(self):
        finished = self.capture("collect:slow")
        self.assertEqual(finished.returncode, 0)
        self.assert_one_line_about_plugin(finished.stderr, "has been in collect for 2 s")
        self.assertEqual(file_json.load(self.file).faults(), [])

    def test_quiet_suppresses_slow_plugin_messages(self):
        finished = self.run_misbehaving("collect:slow", "-q", "capture", "-o", str(self.file))
        self.assertEqual((finished.returncode, finished.stderr), (0, ""))


if __name__ == "__main__":
    concurrent_cases.main(jobs=2)
