#!/usr/bin/python3
"""Compares two captures of this host between which threads start, exit, work and change their names. With the files exchanged, the report
must be the mirror image."""

import os
import subprocess
import sys

import harness
import mirror_test

HERE = os.path.dirname(os.path.realpath(__file__))


class Mirror(mirror_test.Case):
    def test_the_live_host(self):
        command = [sys.executable, os.path.join(HERE, "turnover.py"), "ctp-mirror"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            harness.capture(self.path("a"))
            print("turn", file=process.stdin, flush=True)
            self.assertEqual(process.stdout.readline(), "turned\n")
            harness.capture(self.path("b"))
            process.stdin.close()
        self.check(self.path("a"), self.path("b"))


if __name__ == "__main__":
    harness.main()
