#!/usr/bin/python3
"""Captures with few file descriptors: a low limit is sufficient, and a limit that is too low gives one message with a sufficient limit."""

import os
import re
import resource
import shutil
import subprocess
import tempfile
import unittest

import file_json
import harness
from file_json import Gap

FAILED = "SourceFailed"
FILES = "--plugins=procfs-sched"
# In each thread, UBSan writes to a pipe of its own to check whether an object's memory is readable. Without a free descriptor for
# the pipe it reports an invalid object.
SANITIZER_OPTIONS = 8 if harness.is_sanitized() else 0


def capture_with_limit(path, limit, *words):
    """Captures with a soft and hard limit on open files. Uses two workers, because the default depends on the load of the host."""
    return subprocess.run([harness.CTPROF, *words, "capture", "--jobs=2", "-o", path], capture_output=True, text=True, check=False,
                          timeout=harness.TIMEOUT, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))


def gaps(file):
    """Returns how many cells each source left empty, by reason."""
    return [source["gaps"] for source in file.document["ctprof"]["sources"]]


class Case(unittest.TestCase):
    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.path = os.path.join(scratch.name, "a.ctprof.zst")


class Limits(Case):
    def test_twelve_descriptors_are_reported_as_too_few(self):
        finished = capture_with_limit(self.path, 12, "--rootfs", harness.fixture("6.12"))
        self.assertEqual((finished.returncode, finished.stderr.count("\n")), (2, 1), finished.stderr)
        self.assertFalse(os.path.exists(self.path))
        self.assertIn("ulimit -n", finished.stderr)

    def test_the_suggested_limit_is_sufficient(self):
        words = (FILES, "--rootfs", harness.fixture("6.12"))
        enough = int(re.search(r"ulimit -n (\d+)", capture_with_limit(self.path, 12, *words).stderr)[1])
        self.assertEqual(capture_with_limit(self.path, enough + SANITIZER_OPTIONS, *words).returncode, 0)
        self.assertEqual([each for each in gaps(file_json.load(self.path)) if FAILED in each], [], enough)
        self.assertEqual(capture_with_limit(self.path, enough - 1, *words).returncode, 2)

    def test_low_limits_cause_no_failures(self):
        """Directories that cannot be kept open are opened again instead."""
        for limit in (64, 100, 200):
            finished = capture_with_limit(self.path, limit, FILES, "--rootfs", harness.fixture("6.12"))
            self.assertEqual(finished.returncode, 0, finished.stderr)
            self.assertEqual([each for each in gaps(file_json.load(self.path)) if FAILED in each], [], limit)

    def test_full_file_table_of_the_host(self):
        """For many threads, every second open fails. No thread is reported as exited, and the error is reported once."""
        words = [FILES, "--rootfs", harness.fixture("6.12"), "capture", "-o", self.path, "--jobs=1"]
        with tempfile.NamedTemporaryFile() as log:
            harness.under_strace(self, ["-e", "trace=openat"], *words, log=log.name)
            opens = log.read().decode().splitlines()
        threads = len(file_json.load(self.path).threads)
        os.unlink(self.path)
        first = next(number for number, line in enumerate(opens, 1) if re.search(r'"\d+/task/\d+",.*O_PATH', line))
        full = f"inject=openat:error=ENFILE:when={first}..{first + 60}+2"
        listing = f"inject=openat:error=ENFILE:when={first - 1}"
        with self.assertRaises(subprocess.CalledProcessError) as failed:
            harness.under_strace(self, ["-e", "trace=openat", "-e", listing], *words)
        self.assertRegex(failed.exception.stderr, r"^ctprof: listing the threads in .*Too many open files in system\n$")
        finished = harness.under_strace(self, ["-e", "trace=openat", "-e", full], *words)
        file = file_json.load(self.path)
        self.assertEqual(len(file.threads), threads)
        cells = [cell for row in file.threads.values() for cell in row.values() if isinstance(cell, Gap)]
        self.assertIn(Gap(FAILED), cells)
        self.assertNotIn(Gap("ThreadGone"), cells)
        self.assertEqual(finished.stderr.count("fs.file-max"), 1, finished.stderr)

    def test_plugin_that_uses_all_descriptors(self):
        """Values read before the failure are kept and written. Values that could not be read are reported once. With a limit below 64 no
        directories are kept open, so none can be closed to free descriptors."""
        plugin = os.path.join(os.environ["BAD_PLUGINS"], "exhausts_descriptors.so")
        place = os.path.dirname(self.path)
        shutil.copy(plugin, place)
        finished = capture_with_limit(self.path, 64, "--plugin-path", place, f"{FILES},exhausts_descriptors", "--rootfs", harness.fixture("6.12"))
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertEqual(finished.stderr.count("ran out"), 1, finished.stderr)
        rows = file_json.load(self.path).processes.values()
        self.assertEqual({row["process.smaps_rollup"] for row in rows}, {Gap(FAILED)})


if __name__ == "__main__":
    harness.main()
