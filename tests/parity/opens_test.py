#!/usr/bin/python3
"""Checks by strace that `capture --metrics run_time_ns` on /proc opens, per thread, only the files for its identity, and schedstat."""

import collections
import os
import unittest

import harness
from opened_files import opened_paths, capture_under_strace


class OpenedFiles(unittest.TestCase):
    longMessage = False

    def opens_below(self, pid, *words):
        """Returns how often a capture with these options opens each path below /proc/<pid>."""
        log = capture_under_strace(self, os.path.join(self.directory, "opens.ctprof.zst"), "--jobs", "1", *words)
        top = f"/proc/{pid}"
        return collections.Counter(path[len(top):] for path in opened_paths(log) if (path + "/").startswith(top + "/"))

    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.directory = scratch.name

    def test_only_identity_and_schedstat(self):
        with harness.Helper("SLEEPERS", cwd=self.directory) as sleepers:
            pid = sleepers.pid
            tids = sorted(int(tid) for tid in os.listdir(f"/proc/{pid}/task"))
            opened = self.opens_below(pid, "--metrics", "run_time_ns")
        self.assertEqual(len(tids), 41)
        for tid in tids:
            base = f"/task/{tid}"
            self.assertEqual(opened.pop(f"{base}/stat", 0), 1, f"stat of {tid}: opened once")
            self.assertEqual(opened.pop(f"{base}/schedstat", 0), 1, f"schedstat of {tid}: opened once")
            self.assertLessEqual(opened.pop(base, 0), 1, f"the directory of {tid}: opened at most once")
        # Opened once per process: its directories, and the cgroup file of one thread. The other threads share that cgroup unless it is
        # threaded. The thread has the lowest id, which is not the leader's if ids were assigned beyond pid_max, from 300 on.
        for once in ("", "/task", f"/task/{min(tids)}/cgroup", "/cgroup"):
            self.assertLessEqual(opened.pop(once, 0), 1, f"{once or 'the process directory'}: opened at most once")
        self.assertEqual(dict(opened), {}, f"opened besides: {dict(opened)}")

    def test_everything_opens_each_file_once(self):
        with harness.Helper("SLEEPERS", cwd=self.directory) as sleepers:
            opened = self.opens_below(sleepers.pid)
        twice = {path: count for path, count in opened.items() if count > 1}
        self.assertEqual(twice, {}, f"opened more than once: {twice}")
        for name in ("stat", "status", "schedstat", "io", "sched"):
            found = sum(path.startswith("/task/") and path.endswith("/" + name) for path in opened)
            self.assertEqual(found, 41, f"{name} of {found} threads was opened")


if __name__ == "__main__":
    harness.main()
