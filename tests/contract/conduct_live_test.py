#!/usr/bin/python3
"""How long plugins may take: time that they cannot help does not count, and who is slow is named while it lasts.

Environment: CTPROF, FIXTURES, BAD_PLUGINS; rude.py says what the plugin does. TEST_ROUNDS repeats the captures that are interrupted.
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
import file_json  # noqa: E402
import harness  # noqa: E402
from rude import Rude  # noqa: E402

ROUNDS = int(os.environ.get("TEST_ROUNDS", "3"))
LIMIT = 5  # seconds that a constructor or probe may take


class Crashes(Rude):
    def setUp(self):
        if harness.is_sanitized():
            self.skipTest("a sanitizer has handlers of its own")

    def test_a_handler_that_interrupts_another_plugin_is_named(self):
        (self.here / "slow").mkdir(exist_ok=True)
        shutil.copy(pathlib.Path(os.environ["BAD_PLUGINS"]) / "slow_thread.so", self.here / "slow")
        for _ in range(ROUNDS):
            done = self.run_rude("open_worker:alarm", "--plugin-path", str(self.here / "slow"), "capture", "-o", str(self.file))
            self.assertEqual(done.returncode, -signal.SIGSEGV)
            self.assert_told(done.stderr, "its code crashed outside of any call")


class Uncounted(Rude):
    def test_time_while_stopped_does_not_count(self):
        process = subprocess.Popen(self.command("metric-list"), env=os.environ | {"RUDE": "constructor:three"},
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(1)
        process.send_signal(signal.SIGSTOP)
        time.sleep(LIMIT + 1)
        process.send_signal(signal.SIGCONT)
        _, said = process.communicate(timeout=harness.TIMEOUT)
        self.assertEqual((process.returncode, said), (0, ""))

    def test_time_without_a_cpu_does_not_count(self):
        """Beside somebody who is far more important, 100 ms take more than 5 s."""
        if harness.is_sanitized():
            self.skipTest("a sanitizer's own start would take a minute")
        cpu = str(min(os.sched_getaffinity(0)))
        with harness.beside("taskset", "-c", cpu, sys.executable, "-c", "while True: pass"):
            start = time.monotonic()
            done = subprocess.run(["taskset", "-c", cpu, "nice", "-n", "19", *self.command("metric-list")], check=False, text=True,
                                  env=os.environ | {"RUDE": "constructor:compute"}, capture_output=True, timeout=harness.TIMEOUT)
            lasted = time.monotonic() - start
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertGreater(lasted, LIMIT)

    def test_time_that_a_disk_takes_does_not_count(self):
        with tempfile.NamedTemporaryFile(dir=pathlib.Path(harness.CTPROF).parent) as file:
            file.write(bytes(4096))
            file.flush()
            os.fsync(file.fileno())
            try:
                os.close(os.open(file.name, os.O_RDONLY | os.O_DIRECT))
            except OSError:
                self.skipTest("this file system has no way past the page cache")
            done = self.run_rude("constructor:read", "metric-list", env=os.environ | {"RUDE": "constructor:read", "RUDE_FILE": file.name})
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Slow(Rude):
    def test_who_is_slow_is_named_while_it_lasts(self):
        done = subprocess.run(["timeout", "-s", "KILL", "7", *self.command("capture", "-o", str(self.file))], check=False, text=True,
                              env=os.environ | {"RUDE": "collect:hang"}, stderr=subprocess.PIPE, timeout=harness.TIMEOUT)
        words = f"ctprof: {self.library}: source 'manners' has been in collect for"
        self.assertEqual([line for line in done.stderr.splitlines() if "rude.so" in line], [f"{words} 2 s", f"{words} 4 s"])

    def test_the_capture_is_whole(self):
        done = self.capture("collect:slow")
        self.assertEqual(done.returncode, 0)
        self.assert_told(done.stderr, "has been in collect for 2 s")
        self.assertEqual(file_json.load(self.file).faults(), [])

    def test_nothing_is_said_when_quiet(self):
        done = self.run_rude("collect:slow", "-q", "capture", "-o", str(self.file))
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    harness.main()
