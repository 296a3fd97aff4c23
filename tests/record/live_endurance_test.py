#!/usr/bin/python3
"""Endurance test of ctprof live: programs start and exit, keys are pressed and the terminal is resized all the time.

Environment: CTPROF; TEST_SECONDS, the duration (default: a few seconds; tools/dev soak live uses ten minutes)."""

import os
import pathlib
import re
import subprocess
import time
import unittest

from live_screen import Screen, Worker, needs_terminal

SECONDS = int(os.environ.get("TEST_SECONDS", "4"))


@needs_terminal
class EnduranceTest(unittest.TestCase):
    """Runs ctprof live with programs that start and exit."""

    def rss(self, pid):
        return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1))

    def test_neither_exits_nor_leaks(self):
        churn = subprocess.Popen(["/bin/sh", "-c", "while :; do /bin/true; done"])
        try:
            with Worker(), Screen() as s:
                s.start("--history", "1M")
                pid = s.pid()
                begin, first = time.monotonic(), None
                widths = [(80, 24), (120, 30), (200, 50)]
                rounds = 0
                while time.monotonic() - begin < SECONDS:
                    s.resize(*widths[rounds % 3])
                    for key in ("g", "s", "Enter", "Enter", "Down", "Escape", "Escape", "a", "[", "[", "b", "c", "c", "Space"):
                        s.keys(key)
                    s.keys("Escape", "Escape", "Escape", "?")
                    s.wait_for_text("ctprof live: the last window of this host")  # all earlier keys were handled
                    s.keys("?")
                    s.wait_until(lambda now: "the last window of this host" not in now and now.splitlines()[-1].startswith("q quit"))
                    rounds += 1
                    if rounds == 10:
                        first = self.rss(pid)
                if first and SECONDS >= 300:
                    self.assertLess(self.rss(pid), first * 1.5 + 20_000)
                s.keys("Escape", "Escape", "Escape", "q")
                s.check_exit()
        finally:
            churn.kill()
            churn.wait()


if __name__ == "__main__":
    unittest.main()
