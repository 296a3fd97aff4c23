#!/usr/bin/python3
"""Tests recorded windows with a problem (record_hunts.py): the first finding names the culprit and the cause, the first row is the culprit
or its victim, and each printed command works.

The build passes CTPROF.
"""

import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "statistics"))
import recorded  # noqa: E402
from hunt_cases import HUNTS, MISSES, VICTIMS, Screen, harness, names_culprit_and_cause, screens  # noqa: E402

ARCHIVE = pathlib.Path(__file__).parent / "recorded.tar.xz"
# Programs whose threads wait often and briefly, but not for a lock (waiters.c); the files contain
# the stacks of their waits.
WAITERS = ("naps", "polls", "pipes", "pool")


class RecordedHunts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = harness.scratch()
        cls.addClassCleanup(cls.scratch.cleanup)
        recorded.unpack(ARCHIVE, pathlib.Path(cls.scratch.name))

    def screens(self, kind):
        return screens(kind, self.scratch.name)

    def test_the_first_finding_names_culprit_and_cause(self):
        for kind, (_, *causes) in HUNTS.items():
            for screen, cause in zip(self.screens(kind), causes):
                with self.subTest(kind=kind, cause=cause):
                    is_right = cause is None or names_culprit_and_cause(kind, screen, cause)
                    self.assertEqual(is_right, kind not in MISSES, screen.text)

    def test_first_row_is_the_culprit_or_its_victim(self):
        for kind, (culprit, *_) in HUNTS.items():
            for screen in self.screens(kind):
                with self.subTest(kind=kind):
                    self.assertIn(screen.first_row, (culprit, VICTIMS.get(kind), None), screen.text)

    def test_windows_before_the_problem_have_no_finding(self):
        for kind, (culprit, cause, _) in HUNTS.items():
            shown = Screen("show", f"{kind}.before.ctprof.zst", cwd=self.scratch.name)
            with self.subTest(kind=kind):
                self.assertFalse([one for one in shown.findings if cause and one.startswith(culprit) and cause in one], shown.text)

    def test_short_waits_for_time_input_or_work_are_no_contention(self):
        for kind in WAITERS:
            for screen in self.screens(kind):
                with self.subTest(kind=kind):
                    self.assertIn(f"h-{kind}", screen.text)
                    self.assertFalse([one for one in screen.findings if "lock" in one], screen.text)

    def test_short_waits_without_stacks_have_no_named_cause(self):
        for screen in self.screens("naps-without-stacks"):
            self.assertEqual(["; only stacks show whether for a lock, a timer or input" in one for one in screen.findings if one.startswith("h-naps ")],
                             [True], screen.text)

    def test_each_command_works(self):
        tool = str(pathlib.Path(harness.CTPROF).parent)
        environment = os.environ | {"PATH": tool + os.pathsep + os.environ["PATH"]}
        ran = 0
        for kind in HUNTS:
            for screen in self.screens(kind):
                for finding, command in screen.steps:
                    if command.startswith("ctprof record "):
                        continue
                    with self.subTest(kind=kind, command=command):
                        finished = subprocess.run(["sh", "-c", command], cwd=self.scratch.name, capture_output=True, text=True, check=False,
                                                  env=environment)
                        self.assertEqual((finished.returncode, finished.stderr), (0, ""))
                        self.assertIn(finding.split()[0], finished.stdout)
                    ran += 1
        self.assertGreater(ran, len(HUNTS))


if __name__ == "__main__":
    harness.main()
