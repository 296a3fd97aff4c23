#!/usr/bin/python3
"""Where a capture goes while others interfere: links that somebody planted, and signals at any moment.

TEST_ROUNDS: how many captures meet a signal at a random moment, or somebody who plants links all the time (default 10). The sysctls of the
host that protect links are set for it, and set back.
"""

import os
import random
import signal
import subprocess
import threading
import time
import unittest

import harness
from output_test import CAPTURE, ENDING, Case, capture, mode

USER = 1000
ROUNDS = int(os.environ.get("TEST_ROUNDS", "10"))
LINKS, FILES = "/proc/sys/fs/protected_symlinks", "/proc/sys/fs/protected_regular"


@unittest.skipUnless(os.geteuid() == 0, "needs root, to be attacked by a user")
class Planted(Case):
    """What a user plants in a directory like /tmp, before root captures there."""

    def setUp(self):
        super().setUp()
        self.shared = self.at / "shared"
        self.shared.mkdir()
        os.chmod(self.shared, 0o1777)
        self.victim = self.at / "victim"
        self.victim.write_text("precious")
        self.out = self.shared / "a.ctprof.zst"

    def plant(self, target, name="a.ctprof.zst"):
        (self.shared / name).symlink_to(target)
        os.lchown(self.shared / name, USER, USER)

    def test_a_link_is_not_followed(self):
        self.plant(self.victim)
        with harness.Switch(LINKS, "1"):
            self.assert_refused(capture(self.out), "Permission denied", "fs.protected_symlinks", "a.ctprof.zst")
        self.assertEqual(self.victim.read_bytes(), b"precious")
        self.assertTrue(self.out.is_symlink())

    def test_a_link_to_a_link_is_not_followed(self):
        self.plant(self.victim)
        ours = self.at / "ours"
        ours.symlink_to(self.out)
        with harness.Switch(LINKS, "1"):
            self.assert_refused(capture(ours), "Permission denied")
        self.assertEqual(self.victim.read_bytes(), b"precious")

    def test_a_link_to_a_directory_is_not_followed(self):
        self.plant(self.at, "directory")
        with harness.Switch(LINKS, "1"):
            self.assert_refused(capture(self.shared / "directory" / "victim"), "Permission denied")
        self.assertEqual(self.victim.read_bytes(), b"precious")

    def test_without_the_switch_the_kernel_follows(self):
        self.plant(self.victim)
        with harness.Switch(LINKS, "0"):
            self.assertEqual(capture(self.out).returncode, 0)
        self.assertNotEqual(self.victim.read_bytes(), b"precious")
        self.assertTrue(self.out.is_symlink())

    def test_a_link_of_our_own_is_followed(self):
        self.out.symlink_to(self.victim)
        with harness.Switch(LINKS, "1"):
            self.assertEqual(capture(self.out).returncode, 0)
        self.assertNotEqual(self.victim.read_bytes(), b"precious")
        self.assertTrue(self.out.is_symlink())

    def test_a_link_that_comes_and_goes(self):
        """Now it is ours, now a link of somebody's, now nothing: whatever the capture meets, it never writes through the link."""
        spare, stop = self.shared / "spare", threading.Event()

        def plant():
            while not stop.is_set():
                self.plant(self.victim, "spare")
                spare.rename(self.out)
                spare.write_text("ours")
                spare.rename(self.out)
                self.out.unlink(missing_ok=True)

        planter = threading.Thread(target=plant)
        with harness.Switch(LINKS, "1"):
            planter.start()
            try:
                statuses = {capture(self.out).returncode for _ in range(ROUNDS)}
            finally:
                stop.set()
                planter.join()
        self.assertLessEqual(statuses, {0, 2})
        self.assertEqual(self.victim.read_bytes(), b"precious")
        self.assertLessEqual(set(path.name for path in self.shared.iterdir()), {"a.ctprof.zst", "spare"})

    def test_somebody_elses_file_is_refused_as_the_kernel_does(self):
        self.out.write_text("planted")
        os.chown(self.out, USER, USER)
        with harness.Switch(FILES, "2"):
            self.assert_refused(capture(self.out), "Permission denied", "fs.protected_regular")
        self.assertEqual(self.out.read_text(), "planted")

    def test_somebody_elses_file_does_not_give_its_mode(self):
        self.out.write_text("planted")
        self.out.chmod(0o666)
        os.chown(self.out, USER, USER)
        with harness.Switch(FILES, "0"):
            self.assertEqual(capture(self.out).returncode, 0)
        self.assertEqual((mode(self.out), self.out.stat().st_uid), (0o600, 0))

    def test_a_hard_link_loses_the_name_and_nothing_else(self):
        os.link(self.victim, self.out)
        self.victim.chmod(0o644)
        self.assertEqual(capture(self.out).returncode, 0)
        self.assertEqual((self.victim.read_text(), mode(self.victim), mode(self.out)), ("precious", 0o644, 0o600))


class Signals(Case):
    def test_at_any_moment(self):
        out = self.at / "a"
        for _ in range(ROUNDS):
            number = getattr(signal, "SIG" + random.choice(ENDING))
            process = subprocess.Popen([harness.CTPROF, *CAPTURE, out], stderr=subprocess.DEVNULL)
            time.sleep(random.uniform(0, 0.03))
            process.send_signal(number)
            self.assertIn(process.wait(harness.TIMEOUT), [0, -number])
            self.assertIn(self.names(), [[], ["a"]])


if __name__ == "__main__":
    harness.main()
