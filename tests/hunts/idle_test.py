#!/usr/bin/python3
"""Compares pairs of consecutive windows without a planted problem: no first screen shows groups that are idle in both windows.

The build passes CTPROF.
"""

import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import hunt_screens  # noqa: E402
import measurement  # noqa: E402
from hunt_screens import harness  # noqa: E402

PAIRS = 5


@measurement.run_twice_at_most
class IdleGroups(unittest.TestCase):
    def test_pairs(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        runs = os.path.join(scratch.name, "runs")
        hunt_screens.run_checked("record", "--no-sync", "-q", "--repeat", str(PAIRS + 1), "-d", f"{hunt_screens.SECONDS}s", "-o", runs)
        windows = [os.path.join(runs, name) for name in sorted(os.listdir(runs))]
        self.assertEqual(len(windows), PAIRS + 1)
        for before, after in zip(windows, windows[1:]):
            quiet = hunt_screens.quiet_in_both(before, after)
            screen = hunt_screens.read_first_screen("compare", before, after)
            self.assertTrue(quiet)
            self.assertFalse(quiet & set(screen.rows), "\n".join(screen.lines))
            for printed in (screen, hunt_screens.read_first_screen("show", after)):
                self.assertFalse([finding for finding in printed.findings if finding.split()[0] in quiet], "\n".join(printed.lines))


if __name__ == "__main__":
    harness.main()
