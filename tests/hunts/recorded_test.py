#!/usr/bin/python3
"""Tests recorded windows with a problem (record_hunts.py): the first finding names the culprit and the cause, the first row is the culprit
or its victim, and each printed command works.

The build passes CTPROF.
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "statistics"))
import harness  # noqa: E402
import recorded  # noqa: E402

ARCHIVE = pathlib.Path(__file__).parent / "recorded.tar.xz"
# By kind: the culprit, and a part of the first finding when the window is shown and when it is
# compared. None: a single window does not show the problem.
HUNTS = {
    "neighbour": ("h-burner", " for a CPU in ", "cpu_affinity "),
    "convoy": ("h-convoy", None, "; only stacks show whether for a lock"),
    "locks": ("h-convoy", None, " that waited for a lock for "),
    "leaker": ("h-leaker", " more than when the window opened", " more than in the first window"),
    "grower": ("h-grower", "grew by ", "grew by "),
    "workers": ("h-workers", None, "cpu_affinity "),
    "forker": ("h-forker", "started ", "started "),
    "poller": ("h-poller", None, "ran for "),
    "zombies": ("h-zombies", " zombies: ", " zombies: "),
    "stuck": ("h-stuck", " in state D ", " in state D "),
    "tail": ("h-tail", " has a thread (h-tail, ", " has a thread (h-tail, "),
    "demoted": ("h-demoted", " for a CPU in ", "policy SCHED_OTHER → SCHED_IDLE"),
}


# Programs whose threads wait often and briefly, but not for a lock (waiters.c); the files contain
# the stacks of their waits.
WAITERS = ("naps", "polls", "pipes", "pool")

VICTIMS = {"neighbour": "h-server", "demoted": "h-rival"}  # or the process that replaced the culprit


class Screen:
    """The printed report on one or two windows: the findings with their commands, and the first row."""

    def __init__(self, *words, cwd):
        finished = subprocess.run([harness.CTPROF, *words], cwd=cwd, capture_output=True, text=True, check=True, env=os.environ | {"COLUMNS": "400"})
        self.text = finished.stdout
        lines = self.text.splitlines()
        self.findings, self.steps = [], []  # steps: pairs of a finding and its command
        for line in lines:
            if found := re.fullmatch(r"[1-5] (.*)", line):
                self.findings.append(found[1])
            elif line.startswith("    ctprof "):
                self.steps.append((self.findings[-1], line.strip()))
        header = next((at for at, line in enumerate(lines) if line.startswith("process  ")), None)
        self.first_row = lines[header + 1].split()[0] if header else None


class Recorded(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = harness.scratch()
        cls.addClassCleanup(cls.scratch.cleanup)
        recorded.unpack(ARCHIVE, pathlib.Path(cls.scratch.name))

    def screens(self, kind):
        before, after = (f"{kind}.{which}.ctprof.zst" for which in ("before", "after"))
        return Screen("show", after, cwd=self.scratch.name), Screen("compare", before, after, cwd=self.scratch.name)

    def test_the_first_finding_names_culprit_and_cause(self):
        for kind, (culprit, *causes) in HUNTS.items():
            for screen, cause in zip(self.screens(kind), causes):
                with self.subTest(kind=kind, cause=cause):
                    if cause is None:
                        continue
                    self.assertTrue(screen.findings, screen.text)
                    self.assertTrue(screen.findings[0].startswith(culprit + " "), screen.text)
                    self.assertIn(cause, screen.findings[0], screen.text)

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
