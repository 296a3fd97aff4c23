#!/usr/bin/python3
"""Descendants of the command of `record`: its children and their children, daemons that forked twice, and threads that exited in the window."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
import harness  # noqa: E402
import recording  # noqa: E402

# A daemon that the kernel reparents, a child that exits, and the command itself. Each writes its pid to a file.
SCRIPT = """
echo $$ >command
sh -c 'setsid sh -c "echo \\$\\$ >daemon; exec sleep 1000" >/dev/null 2>&1 &'
sh -c 'echo $$ >child'
while [ ! -s daemon ]; do sleep 0.01; done
exec sleep 0.2
"""
# The same with a daemon of the first window and one of a later window.
LONG_SCRIPT = """
echo $$ >command
sh -c 'setsid sh -c "echo \\$\\$ >daemon; exec sleep 1000" >/dev/null 2>&1 &'
sleep 0.8
sh -c 'setsid sh -c "echo \\$\\$ >later; exec sleep 1000" >/dev/null 2>&1 &'
exec sleep 1000 >/dev/null 2>&1
"""
WITHOUT_BPF = ["--plugins", "host,procfs-sched"]


def threads_in(path):
    """Returns the rows of living and of exited threads of a window."""
    lines = recording.read_lines(path)
    found = {"table": [], "exited": []}
    for block in lines:
        if block["kind"] in found and block.get("entity", "thread") == "thread":
            for at in range(len(block["columns"]["tid"])):
                found[block["kind"]].append({name: cells[at] for name, cells in block["columns"].items()})
    return found["table"], found["exited"]


class Descendants(unittest.TestCase):
    def setUp(self):
        self.scratch = harness.scratch()
        self.addCleanup(self.scratch.cleanup)
        self.file = os.path.join(self.scratch.name, "x.ctprof.zst")

    def pid(self, name):
        with open(os.path.join(self.scratch.name, name), encoding="ascii") as file:
            return int(file.read())

    def record(self, *words, options=(), script=SCRIPT):
        other = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(other.communicate)
        self.addCleanup(other.kill)
        self.other = other.pid
        finished = subprocess.run([harness.CTPROF, *words, "record", "--no-sync", "-o", self.file, *options, "--", "sh", "-c", script],
                                  cwd=self.scratch.name, capture_output=True, text=True, timeout=harness.TIMEOUT, check=False)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.addCleanup(os.kill, self.pid("daemon"), 9)
        return finished.stderr

    def check_windows_back_to_back(self, *words):
        messages = self.record(*words, options=["--repeat", "4", "-d", "500ms"], script=LONG_SCRIPT)
        self.addCleanup(os.kill, self.pid("command"), 9)
        self.addCleanup(os.kill, self.pid("later"), 9)
        first, *_, last = (self.marks(threads_in(os.path.join(self.file, name))[0]) for name in sorted(os.listdir(self.file)))
        for name in ("command", "daemon", "later"):
            self.assertTrue(last[self.pid(name)], name)
        self.assertTrue(first[self.pid("daemon")])
        for window in (first, last):
            self.assertFalse(window[self.other])
            self.assertFalse(window[os.getpid()])
        return messages

    def marks(self, rows):
        return {row["tid"]: row["descendant"] for row in rows}

    def test_descendants_by_bpf(self):
        messages = self.record()
        if "forks cannot be traced on this host" in messages:
            self.skipTest("needs BPF")
        living, ended = map(self.marks, threads_in(self.file))
        self.assertTrue(living[self.pid("daemon")])
        self.assertFalse(living[self.other])
        self.assertFalse(living[os.getpid()])
        self.assertTrue(ended[self.pid("child")])
        self.assertTrue((ended | living)[self.pid("command")], "it is a zombie, or exited")
        daemon = next(row for row in threads_in(self.file)[0] if row["tid"] == self.pid("daemon"))
        self.assertNotIn(daemon["parent"], (self.pid("command"), os.getpid()), "it was reparented")
        self.assertEqual({row.get("parent") for row in threads_in(self.file)[1]}, {None}, "exited threads have no parent")

    def test_without_bpf(self):
        messages = self.record(*WITHOUT_BPF)
        self.assertIn("forks cannot be traced on this host", messages)
        living = self.marks(threads_in(self.file)[0])
        self.assertTrue(living[self.pid("daemon")])
        self.assertFalse(living[self.other])
        self.assertFalse(living[os.getpid()])

    def test_in_windows_back_to_back(self):
        self.check_windows_back_to_back()

    def test_in_windows_back_to_back_without_bpf(self):
        messages = self.check_windows_back_to_back(*WITHOUT_BPF)
        self.assertEqual(messages.count("forks cannot be traced on this host"), 1, messages)

    def test_show_groups_by_descendants(self):
        self.record()
        finished = harness.run("show", self.file, "--where", "descendant", "--group-by", "comm-exact", "--metrics", "thread_count",
                               "--format", "json")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        groups = {row["group"] for row in json.loads(finished.stdout)["rows"]}
        self.assertIn("sleep", groups)
        self.assertLessEqual(groups, {"sleep", "sh", "setsid", "ctprof"})

    def test_a_capture_has_no_descendants(self):
        harness.capture(self.file, "--layout", "columns")
        finished = harness.run("show", self.file, "--where", "descendant")
        self.assertEqual(finished.returncode, 2)
        self.assertIn("'descendant'", finished.stderr)

    def test_parents_and_kernel_threads(self):
        """Parents and kernel threads equal those of /proc, with BPF and without."""
        for words in ([], WITHOUT_BPF):
            harness.capture(self.file, "--layout", "columns", before=words)
            rows = {row["tid"]: row for row in threads_in(self.file)[0]}
            self.assertEqual(rows[os.getpid()]["parent"], os.getppid())
            self.assertFalse(rows[os.getpid()]["kernel_thread"])
            self.assertEqual(rows[2]["parent"], 0)
            self.assertTrue(rows[2]["kernel_thread"], "kthreadd")

    def test_a_command_that_cannot_run(self):
        finished = harness.run("record", "-o", self.file, "--", "./no-such-command")
        self.assertNotEqual(finished.returncode, 0)
        self.assertIn("no-such-command': No such file or directory", finished.stderr)
        self.assertFalse(os.path.exists(self.file))


if __name__ == "__main__":
    harness.main()
