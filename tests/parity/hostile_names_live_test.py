#!/usr/bin/python3
"""Captures threads and cgroups of this host with hostile names, and checks that the output of ctprof about them is plain text."""

import ctypes
import itertools
import os
import threading

import harness
import hostile_names_test
from cgroups_test import cgroup, may_make_cgroups, sleeper
from hostile_names_test import BYTES


class NamedThreads:
    """Runs threads of this process under the hostile names during the block."""

    def __enter__(self):
        self.end, self.named = threading.Event(), threading.Barrier(len(BYTES) + 1)
        for name in BYTES:
            threading.Thread(target=self.run, args=(name,), daemon=True).start()
        self.named.wait()

    def run(self, name):
        pr_set_name = 15
        ctypes.CDLL(None).prctl(pr_set_name, ctypes.c_char_p(name))
        self.named.wait()
        self.end.wait()

    def __exit__(self, *_):
        self.end.set()


class HostileNames(hostile_names_test.Case):
    def test_capture(self):
        with NamedThreads():
            harness.capture(self.path("live0"))
            harness.capture(self.path("live1"))
        self.assertIn("\\x1b[31mred", self.checked_output("show", self.path("live0"), "--group-by", "comm", "--limit", "0"))
        self.check_reports(self.path("live0"), self.path("live1"))

    def test_cgroups(self):
        if not may_make_cgroups():
            self.skipTest("needs root, and a cgroup v2 hierarchy in which cgroups can be created")
        with cgroup() as top:
            deepest = top
            for name in [text for text in BYTES if b"\n" not in text]:  # the kernel refuses a newline
                deepest += b"/" + name
            for level in itertools.count():
                name = f"/\x1b[{level}m\u202e".encode().ljust(220, b"x")
                if len(deepest + name) >= 4096 - 40:  # leaves enough length for the names of its files
                    break
                deepest += name
            os.makedirs(deepest)
            self.assertGreater(len(deepest), 3800)
            with sleeper(deepest):
                harness.capture(self.path("cgroups0"))
                harness.capture(self.path("cgroups1"))
        self.assertIn("\\x1b[15m\\u202exxx", self.checked_output("show", self.path("cgroups0"), "--group-by", "cgroup", "--limit", "0", "--format", "csv"))
        self.check_reports(self.path("cgroups0"), self.path("cgroups1"))


if __name__ == "__main__":
    harness.main()
