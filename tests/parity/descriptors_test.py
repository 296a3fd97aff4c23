#!/usr/bin/python3
"""File descriptors that run out: few are enough, and too few are told in one sentence that says how many would do."""

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
# UBSan writes to a pipe of its own, in each thread, to find out whether an object's memory can be read; without one it takes the object for a
# wrong one.
OF_SANITIZER = 8 if harness.is_sanitized() else 0


def captured(path, limit, *words):
    """A capture under a limit on open files, soft and hard; by two workers, where otherwise the load of the host decides how many."""
    return subprocess.run([harness.CTPROF, *words, "capture", "--jobs=2", "-o", path], capture_output=True, text=True, check=False,
                          timeout=harness.TIMEOUT, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))


def gaps(file):
    """How many cells each source left empty, by reason."""
    return [source["gaps"] for source in file.document["ctprof"]["sources"]]


class Case(unittest.TestCase):
    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.path = os.path.join(scratch.name, "a.ctprof.zst")


class Limits(Case):
    def test_twelve_are_told_to_be_too_few(self):
        done = captured(self.path, 12, "--rootfs", harness.fixture("6.12"))
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertFalse(os.path.exists(self.path))
        self.assertIn("ulimit -n", done.stderr)

    def test_the_number_in_the_sentence_is_enough(self):
        words = (FILES, "--rootfs", harness.fixture("6.12"))
        enough = int(re.search(r"ulimit -n (\d+)", captured(self.path, 12, *words).stderr)[1])
        self.assertEqual(captured(self.path, enough + OF_SANITIZER, *words).returncode, 0)
        self.assertEqual([each for each in gaps(file_json.load(self.path)) if FAILED in each], [], enough)
        self.assertEqual(captured(self.path, enough - 1, *words).returncode, 2)

    def test_few_make_nothing_fail(self):
        """Directories that cannot be held open are not."""
        for limit in (64, 100, 200):
            done = captured(self.path, limit, FILES, "--rootfs", harness.fixture("6.12"))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([each for each in gaps(file_json.load(self.path)) if FAILED in each], [], limit)

    def test_the_hosts_table_is_full(self):
        """Of many threads every other file cannot be opened: none is said to be gone, and it is told once."""
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
        done = harness.under_strace(self, ["-e", "trace=openat", "-e", full], *words)
        file = file_json.load(self.path)
        self.assertEqual(len(file.threads), threads)
        cells = [cell for row in file.threads.values() for cell in row.values() if isinstance(cell, Gap)]
        self.assertIn(Gap(FAILED), cells)
        self.assertNotIn(Gap("ThreadGone"), cells)
        self.assertEqual(done.stderr.count("fs.file-max"), 1, done.stderr)

    def test_a_plugin_takes_them_all(self):
        """What was read before is kept, and written; what could not be read is told once. Under 64, no directory is held and given back."""
        plugin = os.path.join(os.environ["BAD_PLUGINS"], "takes_descriptors.so")
        place = os.path.dirname(self.path)
        shutil.copy(plugin, place)
        done = captured(self.path, 64, "--plugin-path", place, f"{FILES},takes_descriptors", "--rootfs", harness.fixture("6.12"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("ran out"), 1, done.stderr)
        rows = file_json.load(self.path).processes.values()
        self.assertEqual({row["process.smaps_rollup"] for row in rows}, {Gap(FAILED)})


if __name__ == "__main__":
    harness.main()
