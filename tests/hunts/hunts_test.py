#!/usr/bin/python3
"""Hunts: all is well on a host, and then there is a trouble. Who looks at the first screen of a window finds it there, and so does who
compares the window with one of before.

The build passes CTPROF, and TROUBLES, the program in troubles.c.
"""

import contextlib
import os
import pathlib
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import scene  # noqa: E402
import measurement  # noqa: E402
from scene import harness  # noqa: E402
from cgroups_test import cgroup, may_make_cgroups  # noqa: E402


def bring_trouble(programs):
    for program in programs:
        program.process.stdin.write(b"trouble\n")
        program.process.stdin.flush()
        program.process.stdout.readline()


@measurement.run_twice_at_most
class Hunts(unittest.TestCase):
    def setUp(self):
        if not may_make_cgroups():
            self.skipTest("needs root, and a cgroup v2 hierarchy to make cgroups in")
        self.cleanup = contextlib.ExitStack()
        self.addCleanup(self.cleanup.close)
        scratch = self.cleanup.enter_context(harness.scratch())
        self.before, self.after, self.file = (os.path.join(scratch, name) for name in ("before", "after", "file"))
        self.top = os.fsdecode(self.cleanup.enter_context(cgroup()))

    def start(self, kind):
        """A program of that kind, called "h-KIND", in a cgroup of its own."""
        place = os.path.join(self.top, kind)
        os.mkdir(place)
        program = self.cleanup.enter_context(harness.Helper("TROUBLES", kind, f"h-{kind}", self.file))
        with open(os.path.join(place, "cgroup.procs"), "w", encoding="ascii") as procs:
            procs.write(str(program.pid))
        return program

    def hunt(self, *kinds, inside=False):
        """The first screens of a window with the troubles of these programs, and of a comparison with one of before. A trouble that comes
        `inside` comes in the middle of the window, others are there when it opens."""
        programs = [self.start(kind) for kind in (*kinds, "idler")]
        scene.record(self.before)
        trouble = threading.Timer(scene.SECONDS / 2 if inside else 0, bring_trouble, [programs])
        trouble.start()
        if not inside:
            trouble.join()
        scene.record(self.after)
        trouble.join()
        screens = scene.first_of("show", self.after), scene.first_of("compare", self.before, self.after)
        self.check_quiet_ones(*screens)
        return screens

    def check_quiet_ones(self, shown, compared):
        """Those who do nothing are on no screen."""
        quiet = scene.quiet_groups(self.after)
        self.assertIn("h-idler", quiet)
        self.assertFalse(quiet & set(shown.rows), "\n".join(shown.lines))
        self.assertFalse(scene.quiet_in_both(self.before, self.after) & set(compared.rows), "\n".join(compared.lines))

    def figure(self, screen, kind, label):
        """What is printed in the row of the programs of that kind."""
        cell = screen.cell(f"h-{kind}", label)
        self.assertIsNotNone(cell, "\n".join([f"{label} of {kind} is not here:", *screen.lines]))
        return cell

    def check_finding(self, screens, kind, words):
        """A finding on both screens has the program as its subject."""
        for screen in screens:
            self.assertTrue(any(finding.startswith(f"h-{kind} ") and words in finding for finding in screen.findings),
                            "\n".join([f"no finding '{words}' of {kind}:", *screen.lines]))

    def wide_comparison(self):
        return scene.first_of("compare", self.before, self.after, columns=200)

    def test_a_noisy_neighbour(self):
        """Who has to wait for its CPU, and who has it. What else runs on the host may take some of it."""
        shown, compared = self.hunt("server", "burner")
        self.assertGreater(self.figure(shown, "server", "%wait").after, 40)
        self.assertGreater(self.figure(shown, "burner", "%CPU").after, 10)
        self.figure(compared, "server", "%wait")
        burner = self.figure(compared, "burner", "%wait")
        self.assertGreater(burner.after, burner.before + 100)
        for screen in (shown, compared):
            self.assertTrue(any(" for a CPU in " in finding and ("h-server" in finding or "h-burner" in finding) for finding in screen.findings),
                            "\n".join(screen.lines))

    def test_a_busy_poller(self):
        shown, compared = self.hunt("poller")
        self.assertGreater(self.figure(shown, "poller", "%CPU").after, 10)
        self.assertEqual(compared.moved_most("h-poller"), "%CPU", "\n".join(compared.lines))
        self.check_finding((compared,), "poller", "ran for ")

    def test_a_lock_that_convoys(self):
        shown, compared = self.hunt("convoy")
        self.assertGreater(self.figure(shown, "convoy", "vcsw/s").after, 500)
        self.assertIn("h-convoy", compared.rows, "\n".join(compared.lines))
        switches = self.figure(self.wide_comparison(), "convoy", "vcsw/s")
        self.assertGreater(switches.after, 10 * switches.before + 500)

    def test_a_program_that_starts_to_sync(self):
        """It writes more, and waits for that: of so small a part of all waiting, a wide terminal tells."""
        shown, compared = self.hunt("syncer")
        self.assertGreater(self.figure(shown, "syncer", "write/s").after, 1 << 20)
        self.assertIn("h-syncer", compared.rows, "\n".join(compared.lines))
        wide = self.wide_comparison()
        written = self.figure(wide, "syncer", "write/s")
        self.assertGreater(written.after, written.before + (1 << 20))
        blocked = self.figure(wide, "syncer", "%blocked")
        self.assertGreater(blocked.after, blocked.before + 1)  # per thread; the other one of the two sleeps
        self.check_finding((shown, compared), "syncer", " per second (write/s)")

    def test_threads_that_leak(self):
        for screen in self.hunt("leaker"):
            self.assertRegex(screen.rows.get("h-leaker", {}).get("threads", ""), r"\d{2,} \+(\d+→)?\d{2,}", "\n".join(screen.lines))
            self.check_finding((screen,), "leaker", " threads, ")

    def test_memory_that_grows(self):
        """Compared it is memory that moved most, or the time that clearing it took."""
        shown, compared = self.hunt("grower")
        self.assertGreater(self.figure(shown, "grower", "rss").growth, 20 << 20)
        self.assertIn(compared.moved_most("h-grower"), ("%CPU", "rss"), "\n".join(compared.lines))
        memory = self.figure(self.wide_comparison(), "grower", "rss")
        self.assertGreater(memory.after, memory.before + (20 << 20))
        self.check_finding((shown, compared), "grower", "grew by ")

    def test_an_affinity_that_changed(self):
        last = os.cpu_count() - 1
        for screen in self.hunt("workers", inside=True):
            self.assertTrue(screen.says(f"h-workers cpu_affinity 0-{last} → {last} (4)"), "\n".join(screen.lines))

    def test_a_fork_storm(self):
        """Most of who ran is gone when the window closes."""
        shown, compared = self.hunt("forker")
        self.assertGreater(self.figure(shown, "forker", "%CPU").after, 5)
        for screen in (shown, compared):
            self.assertRegex(screen.rows.get("h-forker", {}).get("threads", ""), r"\d \+(\d+→)?\d{2,} -(\d+→)?\d{2,}$", "\n".join(screen.lines))
            self.check_finding((screen,), "forker", "started ")


if __name__ == "__main__":
    harness.main()
