#!/usr/bin/python3
"""Checks that one message explains why no helper process could be created, and that no observed process is blamed for it."""

import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest

import file_json
import harness
from file_json import Gap

BLAMES = re.compile(r"crashed the helper|did not end|did not answer")
HEAPS = "--plugins=jemalloc-ptrace,procfs-sched"


# The leak checker of a sanitizer has a child of its own, which must not be killed and needs a process of the limit.
WITHOUT_LEAKS = os.environ | {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}


def heaps(file):
    return [row["allocated_bytes"] for row in file.threads.values() if "allocated_bytes" in row]


class WithoutHelper(unittest.TestCase):
    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.path = os.path.join(scratch.name, "a.ctprof.zst")

    def check_reported_once(self, output, why):
        self.assertIsNone(BLAMES.search(output), output)
        self.assertEqual(len(re.findall(rf"jemalloc-ptrace: no helper process could be created to read heaps \({why}", output)), 1, output)
        file = file_json.load(self.path)
        self.assertIn(Gap("Busy"), heaps(file))
        self.assertFalse([source for source in file.document["ctprof"]["sources"] if "SourceFailed" in source["gaps"]], output)

    def test_helper_cannot_close_inherited_descriptors(self):
        forbidden = ["-f", "-e", "trace=close_range", "-e", "inject=close_range:error=ENOSYS"]
        finished = harness.under_strace(self, forbidden, HEAPS, "capture", "-o", self.path)
        self.check_reported_once(finished.stderr, "Function not implemented")

    @unittest.skipUnless(harness.can_become_user(), "needs root and setpriv")
    def test_no_thread_can_be_created(self):
        os.chmod(os.path.dirname(self.path), 0o777)
        alone = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "prlimit", "--nproc=1"]
        finished = subprocess.run([*alone, harness.reachable_copy()[1], HEAPS, "capture", "-o", self.path], capture_output=True, text=True,
                                  check=False, timeout=harness.TIMEOUT, env=WITHOUT_LEAKS)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.check_reported_once(finished.stderr, "Resource temporarily unavailable; see the limit on processes")

    @unittest.skipUnless(os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], check=False).returncode == 0,
                         "needs root and mount namespaces")
    def test_helper_needs_no_devices(self):
        script = 'mount -t tmpfs none /dev && exec "$@"'
        finished = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", harness.CTPROF, HEAPS, "capture", "-o", self.path],
                                  capture_output=True, text=True, check=False, timeout=harness.TIMEOUT)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertIsNone(BLAMES.search(finished.stderr), finished.stderr)
        self.assertNotIn("no process could be made", finished.stderr)


def end_helper(parent, delay):
    """Kills the children of the process, a given delay after they appear."""
    try:
        children = [pid for path in pathlib.Path(f"/proc/{parent}/task").glob("*/children") for pid in path.read_text(encoding="ascii").split()]
        if children:
            time.sleep(delay)
        for child in children:
            os.kill(int(child), signal.SIGKILL)
    except (FileNotFoundError, ProcessLookupError):
        pass


@unittest.skipIf(harness.is_sanitized(), "a sanitizer makes the helper too slow to be killed while it reads")
class KilledHelper(unittest.TestCase):
    def test_killed_helper_is_not_reported_as_slow(self):
        """A user who may start ctprof may also kill its helper."""
        with tempfile.TemporaryFile() as output:
            for attempt in range(400):
                delay = attempt % 40 * 1e-4  # the helper reads at some moment of its first milliseconds
                start = time.monotonic()
                with subprocess.Popen([harness.CTPROF, HEAPS, "capture", "-o", "/dev/null"], stderr=output, stdout=subprocess.DEVNULL,
                                      env=WITHOUT_LEAKS) as process:
                    while process.poll() is None:
                        end_helper(process.pid, delay)
                self.assertEqual(process.returncode, 0)
                output.seek(0)
                text = output.read().decode()
                if time.monotonic() - start < 1.5:
                    self.assertNotIn("did not answer within", text)
                if "crashed the helper process" in text:
                    return
        self.fail("no helper was killed while it read")


if __name__ == "__main__":
    harness.main()
