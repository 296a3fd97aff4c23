#!/usr/bin/python3
"""Tests a pager with simulated keys, and the progress messages of slow commands on a terminal.

Environment: CTPROF, FIXTURES."""

import os
import pathlib
import shutil
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
import harness  # noqa: E402
import pager_test  # noqa: E402
from pager_test import LINES, OnTerminal  # noqa: E402

BELL = "\x07"


@unittest.skipUnless(shutil.which("less"), "needs less")
class Less(pager_test.Case):
    def test_pages_long_text(self):
        plain = self.plain(*self.show_words, "--fail-on", "thread_count > 0").splitlines()
        with OnTerminal(*self.show_words, "--fail-on", "thread_count > 0") as run:
            self.assertTrue(run.read_until(lambda text: text.endswith(":\x1b[K")), run.text)
            self.assertIsNone(run.process.poll())
            self.assertLess(len(run.lines()), LINES + 2)
            run.press(b"\x03")  # for less, not for ctprof
            self.assertTrue(run.read_until(lambda text: BELL in text), run.text)
            self.assertIsNone(run.process.poll())
            press_until_exit(run, b"q")  # the first key after ^C is sometimes lost
            self.assertEqual(run.finish(), 1)
            self.assertLess(len(run.lines()), len(plain))


def press_until_exit(run, keys):
    end = time.monotonic() + harness.TIMEOUT
    while run.process.poll() is None and time.monotonic() < end:
        run.press(keys)
        run.read_until(lambda _: run.process.poll() is not None, seconds=1)


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class OutputTooLarge(unittest.TestCase):
    def test_missing_terminal_is_not_reported_as_unknown_type(self):
        for size in [(24, 65535), (65535, 80)]:
            with OnTerminal("live", size=size) as run:
                self.assertEqual(run.finish(), 2, run.text)
            self.assertIn(f"it has {size[1]} columns and {size[0]} lines", run.text)
            self.assertNotIn("TERM", run.text)

    def test_names_unknown_terminal_type(self):
        with OnTerminal("live", TERM="no-such-terminal") as run:
            self.assertEqual(run.finish(), 2, run.text)
        self.assertIn("opening the terminal 'no-such-terminal': unknown terminal type", run.text)


class Progress(pager_test.Case):
    WAITS = ("-c", '(sleep 1.7; cat "$1") | "$0" show - --no-pager $2', harness.CTPROF)

    def run_slow_command(self, option=""):
        with OnTerminal(*self.WAITS, self.file, option, program="/bin/sh") as run:
            self.assertEqual(run.finish(), 0, run.text)
            return run.text

    def test_shows_and_clears_progress_after_a_second(self):
        text = self.run_slow_command()
        self.assertRegex(text, r"^(\r\x1b\[Kreading, [1-9]\.\d s)+\r\x1b\[K")
        self.assertNotIn("reading,", text[text.rindex("\r\x1b[K"):])
        self.assertIn("run_time", text)

    def test_quiet_shows_no_progress(self):
        self.assertNotIn("reading", self.run_slow_command("-q"))


if __name__ == "__main__":
    harness.main()
