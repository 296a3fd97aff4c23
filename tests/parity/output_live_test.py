#!/usr/bin/python3
"""Checks where a capture is written while others interfere: by links that another user plants, and by signals at any time.

TEST_ROUNDS: number of captures that get a signal at a random moment, or run while another process keeps planting links (default 10). The test sets
the sysctls that protect links, and restores them.
"""

import os
import random
import signal
import subprocess
import threading
import time
import unittest

import harness
from output_test import CAPTURE, FATAL_SIGNALS, Case, capture, mode

USER = 1000
ROUNDS = int(os.environ.get("TEST_ROUNDS", "10"))
LINKS, FILES = "/proc/sys/fs/protected_symlinks", "/proc/sys/fs/protected_regular"


@unittest.skipUnless(os.geteuid() == 0, "needs root, to act as an attacking user")
class PlantedLinks(Case):
    """Captures by root in a directory like /tmp where a user planted links before."""

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

    def test_a_link_is_not_followed_if_the_kernel_would_follow_it(self):
        self.plant(self.victim)
        with harness.Switch(LINKS, "0"):
            self.assert_refused(capture(self.out), "it is a symbolic link of user ", "name the file that it leads to")
        self.assertEqual(self.victim.read_bytes(), b"precious")
        self.assertTrue(self.out.is_symlink())

    def test_a_link_of_the_own_user_is_followed(self):
        self.out.symlink_to(self.victim)
        with harness.Switch(LINKS, "1"):
            self.assertEqual(capture(self.out).returncode, 0)
        self.assertNotEqual(self.victim.read_bytes(), b"precious")
        self.assertTrue(self.out.is_symlink())

    def test_link_that_appears_and_disappears(self):
        """The name alternates between root's file, a link of the user's, and nothing. The capture never writes through the link."""
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

    def test_file_of_another_user_is_refused_like_by_the_kernel(self):
        self.out.write_text("planted")
        os.chown(self.out, USER, USER)
        with harness.Switch(FILES, "2"):
            self.assert_refused(capture(self.out), "Permission denied", "fs.protected_regular")
        self.assertEqual(self.out.read_text(), "planted")

    def test_mode_of_another_users_file_is_not_copied(self):
        self.out.write_text("planted")
        self.out.chmod(0o666)
        os.chown(self.out, USER, USER)
        with harness.Switch(FILES, "0"):
            self.assertEqual(capture(self.out).returncode, 0)
        self.assertEqual((mode(self.out), self.out.stat().st_uid), (0o600, 0))

    def test_other_names_of_a_hard_link_are_unchanged(self):
        os.link(self.victim, self.out)
        self.victim.chmod(0o644)
        self.assertEqual(capture(self.out).returncode, 0)
        self.assertEqual((self.victim.read_text(), mode(self.victim), mode(self.out)), ("precious", 0o644, 0o600))


class Signals(Case):
    def test_signals_at_any_time(self):
        out = self.at / "a"
        for _ in range(ROUNDS):
            number = getattr(signal, "SIG" + random.choice(FATAL_SIGNALS))
            process = subprocess.Popen([harness.CTPROF, *CAPTURE, out], stderr=subprocess.DEVNULL)
            time.sleep(random.uniform(0, 0.03))
            process.send_signal(number)
            self.assertIn(process.wait(harness.TIMEOUT), [0, -number])
            self.assertIn(self.names(), [[], ["a"]])


if __name__ == "__main__":
    harness.main()
