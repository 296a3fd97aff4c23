#!/usr/bin/python3
"""Recording of a program whose file is on a file system that no longer answers.

A thread that waits for such a file system cannot be killed, and prevents the exit of its process. The recording must end nevertheless, and name the
file. The file system is tests/jemalloc/stuck_mount.py, in a mount namespace of its own.

Environment: CTPROF."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import unittest

import recording
from recording import harness

STUCK_MOUNT = pathlib.Path(__file__).parent.parent / "jemalloc" / "stuck_mount.py"

# DIRECTORY OUTPUT FILE COMMAND...: the program has read all of its file before the creation of FILE makes the file system silent.
SCRIPT = """
"$1/file" -c 'i=0; echo ready >&2; while [ $i -lt 2000000000 ]; do i=$((i+1)); [ $i -ne 1000000 ] || echo warm >&2; done' 2>"$2" &
program=$!
until grep -q warm "$2"; do sleep 0.1; done
: >"$3"
shift 3
"$@"
status=$?
kill -9 $program
exit $status
"""


@unittest.skipUnless(os.path.exists("/dev/fuse") and shutil.which("dash"), "needs /dev/fuse and dash")
class SilentMount(unittest.TestCase):
    def setUp(self):
        if os.geteuid() != 0:
            raise unittest.SkipTest("needs permission to mount")
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.home = pathlib.Path(scratch.name)
        self.programs, self.content = self.home / "bin", self.home / "content"
        self.programs.mkdir()
        shutil.copy(shutil.which("dash"), self.content)

    def run_with_silent_mount(self, *words):
        command = [sys.executable, STUCK_MOUNT, self.programs, self.content, "/bin/sh", "-c", SCRIPT, "sh", self.programs, self.home / "said",
                   self.content.with_suffix(".stuck"), harness.CTPROF, *words]
        with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
            try:
                messages = process.communicate(timeout=recording.TIMEOUT)[1]
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        self.assertEqual(process.returncode, 0, messages)
        return messages

    def test_a_recording_ends(self):
        messages = self.run_with_silent_mount("record", "-d", "1s", "--recorders", "on-cpu", "-o", self.home / "window.zst")
        self.assertRegex(messages, rf"cannot open files of programs: '{re.escape(str(self.programs / 'file'))}': a file system did not answer")

    def test_a_capture_ends(self):
        self.run_with_silent_mount("capture", "--stacks", "-o", self.home / "snapshot.zst")


if __name__ == "__main__":
    unittest.main()
