#!/usr/bin/python3
"""`record --recorders sleepers` with 10,000 threads on busy CPUs: passes are on time.

Environment: CTPROF"""

import contextlib
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import recording  # noqa: E402
import measurement  # noqa: E402
from recording import harness, run  # noqa: E402

THREADS = 10_000
BUSY = 6  # processes for each CPU
# Of the passes of a window. The first pass reports all threads completely, and takes several periods here.
LARGEST_SHARE = 0.35

CROWD = f"""
import sys, threading
threading.stack_size(65536)
for number in range({THREADS}):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def crowd():
    with subprocess.Popen([sys.executable, "-c", CROWD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline() == "ready\n"
        finally:
            process.kill()


@measurement.run_twice_at_most
class Crowd(unittest.TestCase):
    def test_most_passes_are_on_time(self):
        if os.geteuid() != 0:
            self.skipTest("needs permission to load BPF programs, and CAP_SYS_NICE")
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        file = pathlib.Path(scratch.name) / ("it" + recording.SUFFIX)
        with crowd() as is_ready, contextlib.ExitStack() as others:
            if not is_ready:
                self.skipTest(f"this host does not allow {THREADS} threads")
            for _ in range(BUSY * os.cpu_count()):
                others.enter_context(harness.busy_process())
            finished = run("-d", "5s", "-o", file, "--recorders", "sleepers", "--metrics", "run_time_ns")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        delayed = re.search(r"(\d+) of (\d+) passes over all threads were not made in time", finished.stderr)
        if delayed:
            self.assertLess(int(delayed[1]), LARGEST_SHARE * int(delayed[2]), finished.stderr)


if __name__ == "__main__":
    unittest.main()
