#!/usr/bin/python3
"""Where no process can be made that looks into others, one sentence says why, and no process that was to be looked into gets the blame."""

import os
import re
import subprocess
import unittest

import file_json
import harness
from file_json import Gap

BLAMES = re.compile(r"brought down|did not end|did not answer|what did not")
FILES = "--plugins=procfs-sched"


def rollups(file):
    return [row["process.smaps_rollup"] for row in file.processes.values() if "process.smaps_rollup" in row]


class NoHelper(unittest.TestCase):
    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.path = os.path.join(scratch.name, "a.ctprof.zst")

    def check_told_once(self, said, why):
        self.assertIsNone(BLAMES.search(said), said)
        self.assertEqual(len(re.findall(rf"procfs-sched: no process could be made to read smaps_rollup files \({why}", said)), 1, said)
        file = file_json.load(self.path)
        self.assertIn(Gap("Busy"), rollups(file))
        self.assertFalse([source for source in file.document["ctprof"]["sources"] if "SourceFailed" in source["gaps"]], said)

    def test_it_cannot_close_what_it_holds(self):
        forbidden = ["-f", "-e", "trace=close_range", "-e", "inject=close_range:error=ENOSYS"]
        done = harness.under_strace(self, forbidden, FILES, "capture", "-o", self.path)
        self.check_told_once(done.stderr, "Function not implemented")

    @unittest.skipUnless(harness.can_become_user(), "needs root and setpriv")
    def test_there_is_room_for_no_thread(self):
        os.chmod(os.path.dirname(self.path), 0o777)
        alone = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "prlimit", "--nproc=1"]
        done = subprocess.run([*alone, harness.CTPROF, FILES, "capture", "-o", self.path], capture_output=True, text=True, check=False,
                              timeout=harness.TIMEOUT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_told_once(done.stderr, "Resource temporarily unavailable; see the limit on processes")

    @unittest.skipUnless(os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], check=False).returncode == 0,
                         "needs root and mount namespaces")
    def test_it_needs_no_devices(self):
        script = 'mount -t tmpfs none /dev && exec "$@"'
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", harness.CTPROF, FILES, "capture", "-o", self.path],
                              capture_output=True, text=True, check=False, timeout=harness.TIMEOUT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIsNone(BLAMES.search(done.stderr), done.stderr)
        self.assertNotIn(Gap("Busy"), rollups(file_json.load(self.path)))


if __name__ == "__main__":
    harness.main()
