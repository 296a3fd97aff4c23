#!/usr/bin/python3
"""Runs each program of the hunts, healthy and then not, and checks the first finding and the first row like recorded_test.py.

The build passes CTPROF, TROUBLES and WAITERS.
"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
import measurement  # noqa: E402
import record_hunts  # noqa: E402
from cgroups_test import may_make_cgroups  # noqa: E402
from hunt_cases import HUNTS, VICTIMS, harness, names_culprit_and_cause, screens  # noqa: E402

# A healthy program repeats its work every 15 ms or more often, so its rates are as accurate as those of a longer window.
HEALTHY_SECONDS = 1


@measurement.run_twice_at_most
class Programs(unittest.TestCase):
    def setUp(self):
        if not may_make_cgroups():
            self.skipTest("needs root, and a cgroup v2 hierarchy in which cgroups can be created")

    def check(self, kind):
        if record_hunts.lacks_controller(kind):
            self.skipTest("needs a controller of cgroups of version 1: " + record_hunts.LIMITS[kind][0])
        with harness.scratch() as directory:
            record_hunts.record_hunt(pathlib.Path(directory), kind, HEALTHY_SECONDS)
            for screen, cause in zip(screens(kind, directory), HUNTS[kind][1:]):
                self.assertTrue(cause is None or names_culprit_and_cause(kind, screen, cause), screen.text)
                self.assertIn(screen.first_row, (HUNTS[kind][0], VICTIMS.get(kind), None), screen.text)


def add_test(kind):
    setattr(Programs, f"test_{kind}", lambda self: self.check(kind))


for name in HUNTS:
    add_test(name)


if __name__ == "__main__":
    harness.main()
