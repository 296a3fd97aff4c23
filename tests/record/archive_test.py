#!/usr/bin/python3
"""Tests `record --every` with a directory: kills at random times, full disks, and queries by time.

TEST_ROUNDS is the number of kills."""

import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import recording  # noqa: E402
import concurrent_cases  # noqa: E402
from recording import Recorder, harness, wait_for  # noqa: E402

ROUNDS = int(os.environ.get("TEST_ROUNDS", "6"))


def ctprof(*words):
    return subprocess.run([harness.CTPROF, *map(str, words)], capture_output=True, text=True, timeout=recording.TIMEOUT, check=False)


def list_hour_files(directory):
    return sorted(pathlib.Path(directory).glob("*.ctprof.zst"))


def blocks(path):
    """Reads the windows of a file without ctprof: (boot, opened, ended) each. Ignores an incomplete line or block at the end."""
    text = subprocess.run(["zstd", "-dcq", str(path)], check=False, capture_output=True).stdout
    found, head = [], {}
    for line in text.splitlines():
        try:
            line = json.loads(line)
        except ValueError:
            break
        if line["kind"] == "header":
            head = {"boot": line["ctprof"]["boot_id"], "ended": line["ctprof"]["start"]["monotonic_ns"]}
        elif line["kind"] == "window":
            head["opened"] = line["opened"]["monotonic_ns"]
        elif line["kind"] == "end":
            found.append((head["boot"], head["opened"], head["ended"]))
    return found


def all_blocks(directory):
    return [block for path in list_hour_files(directory) for block in blocks(path)]


def count_indexed_windows(directory):
    """Returns the number of windows in the index."""
    try:
        return len((pathlib.Path(directory) / "index.tsv").read_bytes().splitlines())
    except FileNotFoundError:
        return 0


class ContinuousRecording(unittest.TestCase):
    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.place = pathlib.Path(scratch.name) / "log"

    def run_show(self, *words):
        finished = ctprof("show", self.place, "--format", "json", *words)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return finished

    def record_windows(self, windows):
        with Recorder("--every", "1s", "-o", self.place) as recorder:
            self.assertTrue(wait_for(lambda: count_indexed_windows(self.place) >= windows, 60))
            recorder.signal(signal.SIGTERM)
            status, messages = recorder.finish()
        self.assertEqual(status, 0, messages)
        return messages

    def test_windows_are_back_to_back_and_the_last_one_is_closed(self):
        messages = self.record_windows(3)
        self.assertIn("a window every 1 s; keeps 7 d, at most 2.0 GiB", messages)
        found = all_blocks(self.place)
        self.assertGreaterEqual(len(found), 4)
        for before, after in zip(found, found[1:]):
            self.assertEqual((before[0], before[2]), after[:2])
        self.assertEqual(count_indexed_windows(self.place), len(found))
        for path in list_hour_files(self.place):
            self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        # One window that covers all of them.
        self.assertEqual(self.run_show().stderr, "")
        one = self.place.parent / "one.ctprof.zst"
        self.assertEqual(ctprof("export", self.place, "--to", "columns", "-o", one).returncode, 0)
        self.assertEqual(blocks(one), [(found[0][0], found[0][1], found[-1][2])])

    def test_one_file_has_the_windows_of_a_given_duration(self):
        """Comparing the file with itself tests blocks of windows, or reports why it cannot."""
        one = self.place.parent / "one.ctprof.zst"
        finished = ctprof("record", "--every", "1s", "-d", "33s", "-o", one)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        found = blocks(one)
        # On a busy host the schedule restarts.
        self.assertGreaterEqual(len(found), 10)
        for before, after in zip(found, found[1:]):
            self.assertEqual((before[0], before[2]), after[:2])
        self.assertGreaterEqual(found[-1][2] - found[0][1], 33 * 10**9)
        self.assertEqual(one.stat().st_mode & 0o777, 0o600)
        compared = ctprof("compare", one, one)
        self.assertEqual(compared.returncode, 0, compared.stderr)
        tested = r"windows in \d+ blocks of \S+ s; each block counts as one run"
        self.assertRegex(compared.stderr, f"too few (windows|blocks) to test: |windows resemble those before them for |{tested}")

    def test_an_interrupted_file_has_the_windows_before_the_signal(self):
        one = self.place.parent / "one.ctprof.zst"
        with Recorder("--every", "1s", "-d", "60s", "-v", "-o", one) as recorder:
            kept = (line for line in recorder.process.stderr if re.search(r"\d+ threads", line))
            for _ in range(2):
                next(kept)
            recorder.signal(signal.SIGTERM)
            status, messages = recorder.finish()
        self.assertEqual(status, 0, messages)
        self.assertGreaterEqual(len(blocks(one)), 2)

    @unittest.skipUnless(os.geteuid() == 0, "mounts a small file system")
    def test_a_full_disk_leaves_the_windows_before_it(self):
        small = self.place.parent / "small"
        small.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(small)], check=True)
        try:
            finished = ctprof("record", "--every", "1s", "-d", "60s", "-o", small / "one.ctprof.zst")
            self.assertEqual(finished.returncode, 2, finished.stderr)
            self.assertIn("No space left on device", finished.stderr)
            found = blocks(small / "one.ctprof.zst")
            self.assertGreaterEqual(len(found), 1)
            self.assertEqual(ctprof("show", small / "one.ctprof.zst").returncode, 0)
        finally:
            subprocess.run(["umount", str(small)], check=True)

    def test_removal_of_the_directory_ends_the_recording(self):
        with Recorder("--every", "1s", "-o", self.place) as recorder:
            self.assertTrue(wait_for(lambda: count_indexed_windows(self.place) >= 1, 60))
            shutil.rmtree(self.place)
            status, messages = recorder.finish()
        self.assertEqual(status, 2, messages)
        self.assertIn(f"recording into the directory '{self.place}': it was removed", messages)

    def test_two_recordings_leave_a_gap(self):
        self.record_windows(1)
        self.record_windows(1)
        self.assertIn("no recording exists from ", self.run_show().stderr)
        self.assertIn("splits the selection into 2 windows, which are shown as runs", self.run_show().stderr)
        refused = ctprof("export", self.place, "--to", "columns", "-o", self.place.parent / "one")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("select one by --since and --until", refused.stderr)
        page = self.place.parent / "page.html"
        self.assertEqual(ctprof("report", self.place, "-o", page).returncode, 0)
        self.assertEqual(ctprof("compare", self.place, self.place).returncode, 0)

    def test_since_and_until(self):
        self.record_windows(1)
        first = all_blocks(self.place)[0]
        self.assertEqual(self.run_show("--since", "1 hour ago", "--until", "now").returncode, 0)
        one = self.place.parent / "one.ctprof.zst"
        finished = ctprof("export", self.place, "--since", "1 hour ago", "--to", "columns", "-o", one)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertEqual(blocks(one)[0][:2], first[:2])
        for words, sentence in [
            (["--since", "2020-01-01", "--until", "2020-01-02"], "it has no window in the requested span; its windows are from 20"),
            (["--since", "soon"], "--since: 'soon' is not a valid time; use 10 min ago, 15:00, yesterday 15:00 or 2026-11-23 15:00"),
            (["--since", "now", "--until", "1 h ago"], "is not before --until"),
            (["--since", "1 h ago", "--since", "2 h ago"], "is specified 2 times, but each is possible once per side, and there is 1 side"),
        ]:
            refused = ctprof("show", self.place, *words)
            self.assertEqual(refused.returncode, 2)
            self.assertIn(sentence, refused.stderr)
        refused = ctprof("show", one, "--since", "1 h ago")
        self.assertIn("--since and --until require a directory that `ctprof record --every` writes", refused.stderr)

    def test_a_second_recorder_is_refused(self):
        with Recorder("--every", "1s", "-o", self.place) as recorder:
            second = recording.run("--every", "1s", "-o", self.place)
            self.assertEqual(second.returncode, 2)
            self.assertIn("another ctprof records into it; stop that one, or name another directory", second.stderr)
            recorder.signal(signal.SIGINT)
            self.assertEqual(recorder.finish()[0], 0)
        self.assertGreaterEqual(len(all_blocks(self.place)), 1)

    def test_dry_run_estimates_sizes_and_writes_nothing(self):
        finished = recording.run("--every", "1s", "--dry-run", "--max-size", "10M", "-o", self.place)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertIn("0 windows in 0 files", finished.stdout)
        self.assertIn("to be deleted now: nothing", finished.stdout)
        self.assertIn("estimated from one of 1 s", finished.stdout)
        self.assertIn("--max-size 10.0 MiB keeps", finished.stdout)
        self.assertFalse(self.place.exists())
        self.record_windows(2)
        before = {path: path.read_bytes() for path in self.place.iterdir()}
        finished = recording.run("--every", "1s", "--dry-run", "--keep", "2h", "-o", self.place)
        self.assertIn("a day; --keep 2 h needs", finished.stdout)
        self.assertEqual(before, {path: path.read_bytes() for path in self.place.iterdir()})

    def test_directories_of_other_users_are_unchanged(self):
        self.place.mkdir()
        (self.place / "notes").write_text("mine")
        refused = recording.run("--every", "1s", "-o", self.place)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("it contains other files, such as 'notes'", refused.stderr)
        self.assertEqual(recording.files_in(self.place), ["notes"])

    def test_killed_repeatedly(self):
        seed = random.randrange(2**32)
        chance = random.Random(seed)
        known = 0
        for number in range(ROUNDS):
            with Recorder("--every", "1s", "-o", self.place) as recorder:
                if number % 2 == 0:
                    before = count_indexed_windows(self.place)
                    self.assertTrue(wait_for(lambda before=before: count_indexed_windows(self.place) > before, 60))
                time.sleep(chance.uniform(0, 0.5))
                recorder.signal(signal.SIGKILL)
                recorder.finish()
            with self.subTest(f"round {number} of seed {seed}"):
                found = all_blocks(self.place)
                self.assertGreaterEqual(len(found), known)
                known = len(found)
                for path in list_hour_files(self.place):
                    self.assertEqual(ctprof("show", path).returncode, 0)
                self.run_show()
        self.assertGreaterEqual(known, ROUNDS // 2)
        self.record_windows(1)
        self.assertGreater(len(all_blocks(self.place)), known)

    def test_fails_if_no_window_could_be_stored(self):
        self.place.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "none", str(self.place)], check=False, capture_output=True).returncode != 0:
            self.skipTest("needs mounts")
        self.addCleanup(subprocess.run, ["umount", "-l", str(self.place)], check=False)
        finished = ctprof("record", "--every", "1s", "-d", "1s", "-o", self.place)
        self.assertEqual(finished.returncode, 2, finished.stderr)
        self.assertIn("No space left on device", finished.stderr)
        self.assertIn("no window could be stored", finished.stderr)

    def test_a_full_disk_loses_windows_but_no_file(self):
        self.place.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", str(self.place)], check=False, capture_output=True).returncode != 0:
            self.skipTest("needs mounts")
        self.addCleanup(subprocess.run, ["umount", "-l", str(self.place)], check=False)
        self.record_windows(1)
        greedy = self.place / "greedy"
        with Recorder("--every", "1s", "-o", self.place) as recorder:
            self.assertTrue(wait_for(lambda: count_indexed_windows(self.place) > 3, 60))
            with open(greedy, "wb", buffering=0) as file:
                try:
                    while file.write(bytes(4096)) == 4096:
                        pass
                except OSError:
                    pass
                # Waits for a window that does not fit: its incomplete end is truncated, so the file has the length that the index gives.
                line = recorder.process.stderr.readline()
                while "could not be written and is missing: No space left on device" not in line:
                    self.assertNotEqual(line, "")
                    line = recorder.process.stderr.readline()
            self.run_show()
            greedy.unlink()
            while " missing, " not in line:
                line = recorder.process.stderr.readline()
                self.assertNotEqual(line, "")
            recorder.signal(signal.SIGTERM)
            self.assertEqual(recorder.finish()[0], 0)
        self.assertIn("no recording exists from ", self.run_show().stderr)
        for path in list_hour_files(self.place):
            self.assertEqual(ctprof("show", path).returncode, 0)


if __name__ == "__main__":
    concurrent_cases.main(jobs=3)
