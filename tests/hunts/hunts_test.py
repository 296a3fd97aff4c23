#!/usr/bin/python3
"""Starts a problem on a host that ran normally before, and checks that the first screen of a window shows it, and that the comparison with
an earlier window shows it as well.

The build passes CTPROF, and TROUBLES, the program of troubles.c.
"""

import contextlib
import os
import pathlib
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import hunt_screens  # noqa: E402
import measurement  # noqa: E402
from hunt_screens import harness  # noqa: E402
from cgroups_test import cgroup, may_make_cgroups  # noqa: E402


def start_troubles(programs):
    for program in programs:
        program.process.stdin.write(b"trouble\n")
        program.process.stdin.flush()
        program.process.stdout.readline()


@measurement.run_twice_at_most
class Hunts(unittest.TestCase):
    def setUp(self):
        if not may_make_cgroups():
            self.skipTest("needs root, and a cgroup v2 hierarchy in which cgroups can be created")
        self.cleanup = contextlib.ExitStack()
        self.addCleanup(self.cleanup.close)
        scratch = self.cleanup.enter_context(harness.scratch())
        self.before, self.after, self.file = (os.path.join(scratch, name) for name in ("before", "after", "file"))
        self.top = os.fsdecode(self.cleanup.enter_context(cgroup()))

    def start(self, kind):
        """Starts a program of that kind, named "h-KIND", in its own cgroup."""
        directory = os.path.join(self.top, kind)
        os.mkdir(directory)
        program = self.cleanup.enter_context(harness.Helper("TROUBLES", kind, f"h-{kind}", self.file))
        with open(os.path.join(directory, "cgroup.procs"), "w", encoding="ascii") as procs:
            procs.write(str(program.pid))
        return program

    def hunt(self, *kinds, inside=False):
        """Returns the first screens of a window with the problems of these programs, and of its comparison with an earlier window. With `inside`
        the problem starts in the middle of the window, otherwise before it opens."""
        programs = [self.start(kind) for kind in (*kinds, "idler")]
        hunt_screens.record(self.before)
        trouble = threading.Timer(hunt_screens.SECONDS / 2 if inside else 0, start_troubles, [programs])
        trouble.start()
        if not inside:
            trouble.join()
        hunt_screens.record(self.after)
        trouble.join()
        screens = hunt_screens.read_first_screen("show", self.after), hunt_screens.read_first_screen("compare", self.before, self.after)
        self.check_idle_groups(*screens)
        return screens

    def check_idle_groups(self, shown, compared):
        """Checks that no screen shows idle groups."""
        quiet = hunt_screens.quiet_groups(self.after)
        self.assertIn("h-idler", quiet)
        self.assertFalse(quiet & set(shown.rows), "\n".join(shown.lines))
        self.assertFalse(hunt_screens.quiet_in_both(self.before, self.after) & set(compared.rows), "\n".join(compared.lines))

    def figure(self, screen, kind, label):
        """Returns the printed value in the row of the programs of that kind."""
        cell = screen.cell(f"h-{kind}", label)
        self.assertIsNotNone(cell, "\n".join([f"missing {label} of {kind}:", *screen.lines]))
        return cell

    def check_finding(self, screens, kind, words):
        """Checks that both screens have a finding on the program."""
        for screen in screens:
            self.assertTrue(any(finding.startswith(f"h-{kind} ") and words in finding for finding in screen.findings),
                            "\n".join([f"no finding '{words}' of {kind}:", *screen.lines]))

    def wide_comparison(self):
        return hunt_screens.read_first_screen("compare", self.before, self.after, columns=200)

    def test_a_noisy_neighbour(self):
        """Checks the waiting and the running program. Other processes of the host may use some of the CPU."""
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

    def test_a_lock_convoy(self):
        shown, compared = self.hunt("convoy")
        self.assertGreater(self.figure(shown, "convoy", "vcsw/s").after, 500)
        self.assertIn("h-convoy", compared.rows, "\n".join(compared.lines))
        switches = self.figure(self.wide_comparison(), "convoy", "vcsw/s")
        self.assertGreater(switches.after, 10 * switches.before + 500)

    def test_a_program_with_synced_writes(self):
        """Checks more writes and blocked time; only a wide terminal shows such a small part of the blocked time."""
        shown, compared = self.hunt("syncer")
        self.assertGreater(self.figure(shown, "syncer", "write/s").after, 1 << 20)
        self.assertIn("h-syncer", compared.rows, "\n".join(compared.lines))
        wide = self.wide_comparison()
        written = self.figure(wide, "syncer", "write/s")
        self.assertGreater(written.after, written.before + (1 << 20))
        blocked = self.figure(wide, "syncer", "%blocked")
        self.assertGreater(blocked.after, blocked.before + 1)  # the mean over two threads, of which one sleeps
        self.check_finding((shown, compared), "syncer", " per second (write/s)")

    def test_leaking_threads(self):
        for screen in self.hunt("leaker"):
            self.assertRegex(screen.rows.get("h-leaker", {}).get("threads", ""), r"\d{2,} \+(\d+→)?\d{2,}", "\n".join(screen.lines))
            self.check_finding((screen,), "leaker", " threads, ")

    def test_growing_memory(self):
        """Checks memory growth; the largest change is memory or the CPU time for clearing it."""
        shown, compared = self.hunt("grower")
        self.assertGreater(self.figure(shown, "grower", "rss").growth, 20 << 20)
        self.assertIn(compared.moved_most("h-grower"), ("%CPU", "rss"), "\n".join(compared.lines))
        memory = self.figure(self.wide_comparison(), "grower", "rss")
        self.assertGreater(memory.after, memory.before + (20 << 20))
        self.check_finding((shown, compared), "grower", "grew by ")

    def test_a_changed_affinity(self):
        last = os.cpu_count() - 1
        for screen in self.hunt("workers", inside=True):
            self.assertTrue(screen.has_sentence(f"h-workers cpu_affinity 0-{last} → {last} (4)"), "\n".join(screen.lines))

    def test_a_fork_storm(self):
        """Checks a program whose threads have mostly exited at the end of the window."""
        shown, compared = self.hunt("forker")
        self.assertGreater(self.figure(shown, "forker", "%CPU").after, 5)
        for screen in (shown, compared):
            self.assertRegex(screen.rows.get("h-forker", {}).get("threads", ""), r"\d \+(\d+→)?\d{2,} -(\d+→)?\d{2,}$", "\n".join(screen.lines))
            self.check_finding((screen,), "forker", "started ")


if __name__ == "__main__":
    harness.main()
