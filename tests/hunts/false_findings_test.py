#!/usr/bin/python3
"""Records twenty windows of a healthy busy host, half of them with stacks: threads that wait often and briefly, but not for a lock, cause no
finding about a lock.

The build passes CTPROF, and WAITERS, the program of waiters.c.
"""

import contextlib
import json
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import hunt_screens  # noqa: E402
import measurement  # noqa: E402
from hunt_screens import harness  # noqa: E402
from record_hunts import KINDS_OF_WAITERS, start_helper  # noqa: E402

WINDOWS = 10


@measurement.needs_quiet_host
class FalseFindings(unittest.TestCase):
    def record(self, *options):
        """Starts the programs, records windows, and returns the findings about the programs, as rules by window."""
        with contextlib.ExitStack() as stack:
            scratch = stack.enter_context(harness.scratch())
            for kind in KINDS_OF_WAITERS:
                program = stack.enter_context(start_helper(kind, scratch))
                program.process.stdin.write(b"start\n")
                program.process.stdin.flush()
                program.process.stdout.readline()
            runs = os.path.join(scratch, "runs")
            hunt_screens.run_checked("record", "--no-sync", "-q", "--repeat", str(WINDOWS), "-d", "1s", *options, "-o", runs)
            reports = [json.loads(hunt_screens.run_checked("show", os.path.join(runs, name), "--format", "json")) for name in sorted(os.listdir(runs))]
        self.assertEqual(len(reports), WINDOWS)
        return [{one["rule"] for one in report["screen"]["findings"] if one["who"].startswith("h-")} for report in reports]

    def test_windows_with_stacks_have_no_finding_about_short_waits(self):
        for rules in self.record("--recorders", "off-cpu"):
            self.assertFalse(rules & {"lock", "short-waits"})

    def test_windows_without_stacks_name_no_cause(self):
        found = self.record()
        for rules in found:
            self.assertNotIn("lock", rules)
        self.assertTrue(any("short-waits" in rules for rules in found))


if __name__ == "__main__":
    harness.main()
