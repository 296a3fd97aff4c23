#!/usr/bin/python3
"""Windows back to back: the read at a boundary ends one window and begins the next, and each exited thread is in one window."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import recording  # noqa: E402
import measurement  # noqa: E402
from recording import Recorder, Window, harness, run, wait_for  # noqa: E402


def compress_line(line):
    return subprocess.run(["zstd", "-cq", f"--stream-size={len(line)}"], input=line, check=True, capture_output=True).stdout


def rewrite(path, change):
    """Changes the lines of a file with layout columns, where each line is a zstd frame."""
    lines = [change(line) for line in subprocess.run(["zstd", "-dcq", path], check=True, capture_output=True, text=True).stdout.splitlines(True)]
    text_bytes = sum(len(line.encode()) for line in lines[:-1])
    lines[-1] = re.sub(r'"bytes":\d+', f'"bytes":{text_bytes}', lines[-1])
    path.write_bytes(b"".join(compress_line(line.encode()) for line in lines))


@measurement.run_twice_at_most
class RepeatedWindows(unittest.TestCase):
    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.here = pathlib.Path(scratch.name) / "runs"

    def windows(self):
        return [Window(self.here / name) for name in recording.files_in(self.here)]

    def test_names(self):
        finished = run("--repeat", "2", "-d", "100ms", "-o", f"{self.here}/")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertEqual(recording.files_in(self.here), ["01.ctprof.zst", "02.ctprof.zst"])
        with Recorder("--repeat", "100", "-d", "10s", "-o", self.here / "more") as recorder:
            recorder.signal(signal.SIGINT)
            recorder.finish()
        self.assertEqual(recording.files_in(self.here / "more"), ["001.ctprof.zst"])

    def test_a_directory_that_is_not_empty(self):
        self.here.mkdir()
        (self.here / "mine").touch()
        finished = run("--repeat", "2", "-d", "100ms", "-o", self.here)
        self.assertEqual((finished.returncode, finished.stdout), (2, ""))
        self.assertEqual(finished.stderr, f"ctprof: recording into the directory '{self.here}': it is not empty; name a new or empty directory\n")
        self.assertEqual(recording.files_in(self.here), ["mine"])

    def test_the_end_of_a_window_is_the_begin_of_the_next(self):
        finished = run("--repeat", "3", "-d", "400ms", "-o", self.here)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        windows = self.windows()
        self.assertEqual(len(windows), 3)
        for earlier, later in zip(windows, windows[1:]):
            self.assertEqual(later.head["opened"], earlier.start)
            self.assertEqual(earlier.end["sources"][0]["source"], later.end["sources"][0]["source"])
            both = 0
            for name, row in later.living.items():
                if name in earlier.living:
                    before = earlier.living[name].values
                    both += 1
                    self.assertFalse(row.born, name)
                    self.assertEqual(row.bases, {metric: before.get(metric) for metric in row.bases}, name)
            self.assertGreater(both, 10)

    def test_windows_have_the_requested_length(self):
        """The time between boundaries does not depend on the time for writing files."""
        with measurement.Delays() as delays:
            run("--repeat", "4", "-d", "300ms", "-o", self.here)
        opened = [window.head["opened"]["monotonic_ns"] for window in self.windows()]
        lengths = [(b - a) / 1e6 for a, b in zip(opened[1:], opened[2:])]
        for length in lengths:
            self.assertGreaterEqual(length, 299)
        measurement.check(self, "length of the shortest window in ms", min(lengths), 300, 50 + 1000 * delays.longest)

    def test_costly_metrics_are_read_on_request(self):
        costly = "process.smaps_rollup"
        single_file = self.here.with_suffix(".zst")
        run("-d", "50ms", "-o", single_file)
        run("--repeat", "2", "-d", "50ms", "-o", self.here)
        for window in (Window(single_file), *self.windows()):
            self.assertFalse(any(window.processes.get(costly, ())))
            self.assertIn(costly, window.left_out)
        for words in (("--metrics", costly), ("--level", "full"), ("--level", "fast", "--metrics", costly)):
            directory = self.here.with_name("-".join(words).lstrip("-"))
            run("--repeat", "2", "-d", "50ms", *words, "-o", directory)
            for name in recording.files_in(directory):
                window = Window(directory / name)
                self.assertTrue(any(window.processes[costly]), (words, name))
                self.assertEqual(window.left_out, [])

    def test_ctrl_c_ends_the_current_window(self):
        with Recorder("--repeat", "50", "-d", "1s", "-o", self.here) as recorder:
            self.assertTrue(wait_for(lambda: self.here.is_dir() and len(os.listdir(self.here)) == 1))
            recorder.signal(signal.SIGINT)
            status, messages = recorder.finish()
        self.assertEqual(status, 0, messages)
        first, second = self.windows()
        self.assertEqual(second.head["opened"], first.start)

    def test_an_exited_thread_is_in_one_window(self):
        """Short-lived children while boundaries are read: each is in exactly one window."""
        started = []

        def start_children(stop):
            while not stop.is_set():
                child = subprocess.Popen(["true"])
                started.append(child.pid)
                child.wait()

        stop = threading.Event()
        storm = threading.Thread(target=start_children, args=(stop,))
        with Recorder("--repeat", "1000", "-d", "150ms", "--metrics", "run_time_ns", "-o", self.here) as recorder:
            self.assertTrue(wait_for(lambda: self.here.is_dir() and os.listdir(self.here)))
            storm.start()
            try:
                self.assertTrue(wait_for(lambda: len(os.listdir(self.here)) >= 7))
            finally:
                stop.set()
                storm.join()
            recorder.signal(signal.SIGINT)
            status, messages = recorder.finish()
        self.assertEqual(status, 0, messages)
        windows = self.windows()
        self.assertTrue(all(window.head["sees_ends"] for window in windows))
        names = [name for window in windows for name in window.ended]
        self.assertEqual(len(names), len(set(names)), "a thread is in two windows")
        missing = set(started) - {tgid for tgid, _, _ in names}
        self.assertEqual(missing, set())
        self.assertGreater(len(started), 10)

    def test_a_zombie_is_living_until_it_is_reaped(self):
        """Its values are final when it becomes a zombie. It is a living thread until its parent reaps it."""
        with Recorder("--repeat", "4", "-d", "700ms", "-o", self.here) as recorder:
            self.assertTrue(wait_for(lambda: self.here.is_dir() and len(os.listdir(self.here)) == 1))
            child = subprocess.Popen(["true"])  # a zombie until wait()
            self.assertTrue(wait_for(lambda: len(os.listdir(self.here)) == 2))
            child.wait()
            recorder.finish()
        windows = self.windows()
        self.assertEqual([len([name for name in window.living if name[0] == child.pid]) for window in windows], [0, 1, 0, 0])
        self.assertEqual([len([name for name in window.ended if name[0] == child.pid]) for window in windows], [0, 0, 1, 0])
        name, = (name for name in windows[2].ended if name[0] == child.pid)
        self.assertEqual(windows[2].ended[name].difference("run_time_ns"), 0)

    def test_many_runs_are_read_one_after_the_other(self):
        """Only the rows of a run show whether it has the times of reads. One of these runs has none."""
        finished = run("--repeat", "6", "-d", "100ms", "-o", self.here)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        runs = [self.here / name for name in recording.files_in(self.here)]
        compared = self.compare_runs(runs)
        self.assertIn("blocked_time_ns", json.dumps(compared))
        rewrite(runs[3], lambda line: re.sub(r',"seen":\[[0-9,[\]]*\](?=[,}])', "", line))
        again = self.compare_runs(runs)
        self.assertNotEqual(again, compared)
        self.assertIn("blocked_time_ns", json.dumps(again))

    def compare_runs(self, runs):
        finished = subprocess.run([harness.CTPROF, "compare", *runs[:3], "--vs", *runs[3:], "--format", "json"], capture_output=True, text=True)
        self.assertEqual((finished.returncode, finished.stderr), (0, ""))
        return json.loads(finished.stdout)


class TwoRecordings(unittest.TestCase):
    def test_two_recordings_have_the_same_values(self):
        """A thread runs only while both windows are open."""
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        worker = subprocess.Popen([sys.executable, "-c", "import sys\nsys.stdin.readline()\nfor _ in range(10**7): pass\nprint('done', flush=True)\n"
                                   "sys.stdin.readline()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(worker.communicate)
        files = [pathlib.Path(scratch.name) / f"{number}.zst" for number in range(2)]
        time.sleep(0.3)
        with Recorder("-o", files[0]) as one, Recorder("-o", files[1]) as other:
            time.sleep(1)
            worker.stdin.write("go\n")
            worker.stdin.flush()
            worker.stdout.readline()
            time.sleep(0.3)
            for recorder in (one, other):
                recorder.signal(signal.SIGINT)
            for recorder in (one, other):
                status, messages = recorder.finish()
                self.assertEqual(status, 0, messages)
        (a,), (b,) = (Window(file).of(worker.pid) for file in files)
        for metric in ("run_time_ns", "voluntary_csw", "minflt"):
            self.assertEqual(a.difference(metric), b.difference(metric), metric)
        self.assertGreater(a.difference("run_time_ns"), 50_000_000)


if __name__ == "__main__":
    harness.main()
