#!/usr/bin/python3
"""The lock of measurements: a second one waits, and names the one that it waits for."""

import os
import subprocess
import sys
import tempfile
import unittest

HOLDER = """
import sys
import measurement
with measurement.quiet_host(sys.argv[1], sys.argv[2]):
    print("ready", flush=True)
    sys.stdin.read()
"""


class QuietHost(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.lock = os.path.join(directory.name, "lock")

    def start(self, name):
        """Starts a process that holds the lock until the end of its input."""
        return subprocess.Popen([sys.executable, "-c", HOLDER, name, self.lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, cwd=os.path.dirname(os.path.realpath(__file__)))

    def test_second_measurement_waits_for_the_first_and_names_it(self):
        with self.start("first") as first:
            self.assertEqual(first.stdout.readline(), "ready\n")
            with self.start("second") as second:
                self.assertEqual(second.stderr.readline(), f"second waits for first (process {first.pid}): both need a quiet host\n")
                first.stdin.close()
                self.assertEqual(second.stdout.readline(), "ready\n")

    def test_lock_of_a_killed_measurement_is_free(self):
        with self.start("first") as first:
            self.assertEqual(first.stdout.readline(), "ready\n")
            first.kill()
        with self.start("second") as second:
            self.assertEqual(second.stdout.readline(), "ready\n")
            self.assertEqual(second.communicate(), ("", ""))


if __name__ == "__main__":
    unittest.main(verbosity=2)
