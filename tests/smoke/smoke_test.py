#!/usr/bin/python3
"""Captures and recordings of this host, whatever it is and however busy: their files are valid, and say of a process of ours what it measured.

Everything here holds on any host at any load. Where the host keeps something back, such as a recorder, the reason must be one clear sentence;
what was not to be had is listed at the end. tests/parity and tests/record (part live) compare more.

Environment: CTPROF.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

for _room in ("parity", "record"):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / _room))
import file_json  # noqa: E402
import harness  # noqa: E402
import layout_checker  # noqa: E402
from file_json import Gap  # noqa: E402
from recording import Window  # noqa: E402

CHILD = [sys.executable, str(pathlib.Path(__file__).resolve().parent / "child.py")]
# What a thread can measure of itself, by the same counters of the kernel: none of them ever falls.
MEASURED = ["run_time_ns", "minflt", "majflt", "voluntary_csw", "nonvoluntary_csw"]
RECORDERS = ["on-cpu", "off-cpu", "sleepers"]
FORKS = 5
DRIFT = 1.001  # between the clock of the scheduler and that of the wall
missing = []  # sentences on what this host does not give


class Child:
    """child.py, which answers each line."""

    def __enter__(self):
        self.process = subprocess.Popen(CHILD, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        return self

    def ask(self, line):
        print(line, file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def measured(self):
        """{thread id: figures}"""
        return {figures["tid"]: figures for figures in self.ask("measure")}

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(harness.TIMEOUT)


class Case(unittest.TestCase):
    longMessage = False

    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.here = pathlib.Path(scratch.name)

    def path(self, name):
        return str(self.here / f"{name}.ctprof.zst")

    def said(self, *words, status=0):
        """Standard output of a run."""
        done = harness.run(*words)
        self.assertEqual(done.returncode, status, f"{words}: {done.stderr}")
        return done.stdout

    def assert_readable(self, *paths):
        """`show` and `compare` read the files, in each form."""
        for form in ("text", "json", "csv"):
            self.said("show", paths[0], "--format", form)
            self.said("compare", *paths, "--lifetime", "--format", form)
            self.said("compare", *paths, "--format", form)

    def assert_valid(self, path):
        """The layout's checker has no complaint, and values and gaps of each column are as many as its rows."""
        self.assertEqual(layout_checker.check_file(path), [])
        file = file_json.load(path)
        self.assertEqual(list(file.faults()), [])
        return file

    def assert_between(self, metric, low, value, high):
        """`value` may be a gap, whose reason is kept."""
        if isinstance(value, Gap) or value is None:
            missing.append(f"{metric} of a process of ours: {value}")
        else:
            self.assertTrue(low <= value <= high, f"{metric} is {value}, not between {low} and {high}")


class Captures(Case):
    def capture(self, *words):
        """The checked file."""
        said = json.loads(self.said("capture", *words, "-o", self.path("child"), "--format", "json"))
        file = self.assert_valid(self.path("child"))
        self.check_skew(said, file)
        return file

    def check_skew(self, said, file):
        """All was read within the skew, and the skew is no longer than the reading."""
        facts, read_at = file.document["ctprof"], file.document["read_at"]
        self.assertEqual((said["skew_ns"], said["thread_skew_ns"]), (facts["skew_ns"], facts["thread_skew_ns"]))
        self.assertEqual(len(read_at), said["threads"])
        self.assertLessEqual(max(read_at) - min(read_at), said["thread_skew_ns"])
        self.assertLessEqual(said["thread_skew_ns"], said["skew_ns"])
        self.assertLessEqual(said["skew_ns"], said["collect_ns"])
        read = [source for source in facts["sources"] if source["wall_ns"]]
        last = max(source["start_ns"] + source["wall_ns"] for source in read)
        self.assertLessEqual(last - min(source["start_ns"] for source in read), said["skew_ns"])

    def check_child(self, child, *words):
        before = child.measured()
        file = self.capture(*words)
        after = child.measured()
        rows = {tid: row for (tgid, tid), row in file.threads.items() if tgid == child.pid}
        self.assertEqual(set(rows), {child.pid, *before})
        for tid, row in rows.items():
            for metric in MEASURED if tid in before else ():
                self.assert_between(metric, before[tid][metric], row.get(metric, Gap("no column")), after[tid][metric])
        return file

    def test_the_host(self):
        """With every plugin that can be used here, and by the files of /proc alone."""
        with Child() as child:
            for words in (), ("--plugins=procfs-sched",):
                with self.subTest(words):
                    child.ask("work")
                    self.check_child(child, *words)
            self.assert_readable(self.path("child"), self.path("child"))

    def test_one_process(self):
        with Child() as child:
            for layout in "rows", "columns":
                path = self.path(layout)
                self.said("capture", "-q", "-p", str(child.pid), "--layout", layout, "-o", path)
            file = self.check_child(child, "-p", str(child.pid))
        self.assertEqual({tgid for tgid, _ in file.threads}, {child.pid})
        self.assert_readable(self.path("rows"), self.path("columns"))


class Windows(Case):
    def record(self, child, *words):
        """Figures of the child's threads: before the window, when it is open, before its end, and behind it. The command of the recording opens
        and ends the window, by pipes; meanwhile threads work, start and end, and processes run."""
        opened, end = self.here / "opened", self.here / "end"
        os.mkfifo(opened)
        os.mkfifo(end)
        before = child.measured()
        command = ["sh", "-c", 'echo >"$0"; read line <"$1"', str(opened), str(end)]
        with subprocess.Popen([harness.CTPROF, "record", "--no-sync", "-o", self.path("window"), *words, "--", *command], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) as recorder:
            opened.read_text(encoding="ascii")
            inside = [child.measured()]
            self.ended = child.ask("shrink")
            self.born = child.ask("grow")
            child.ask("work")
            self.forked = child.ask(f"fork {FORKS}")
            inside.append(child.measured())
            end.write_text("\n", encoding="ascii")
            said = recorder.communicate(timeout=harness.TIMEOUT)[1]
        self.assertEqual(recorder.returncode, 0, said)
        return before, *inside, child.measured()

    def check_window(self, child, *words, is_of_host):
        before, first, last, after = self.record(child, *words)
        window = Window(self.path("window"))
        rows = {row.name[1]: row for row in window.of(child.pid)}
        self.assertEqual(set(rows), {child.pid, *after})
        for tid in after.keys() & before.keys():
            for metric in MEASURED:
                difference = rows[tid].difference(metric) if metric in rows[tid].values else None
                self.assert_between(metric, last[tid][metric] - first[tid][metric], difference, after[tid][metric] - before[tid][metric])
            self.check_share(rows[tid], after[tid]["monotonic_ns"] - before[tid]["monotonic_ns"])
        self.assertTrue(rows[self.born].born)
        for metric in MEASURED:
            self.assert_between(metric, last[self.born][metric], rows[self.born].values.get(metric), after[self.born][metric])
        self.check_ends(window, child, self.forked if is_of_host else [])
        self.assert_readable(self.path("window"), self.path("window"))

    def check_share(self, row, wall_ns):
        """No thread runs and waits for longer than there is time."""
        took = [row.difference(metric) for metric in ("run_time_ns", "wait_time_ns") if metric in row.values]
        self.assertLessEqual(sum(filter(None, took)), wall_ns * DRIFT)

    def check_ends(self, window, child, pids):
        """Each of these processes and the thread that ended has a row, or is counted among those that have none; where ends are not seen, the
        file says so."""
        if not window.head.get("sees_ends"):
            missing.append("threads that ended in a window")
            self.assertEqual(window.ended, {})
            return
        found = sum(tgid in pids or (tgid, tid) == (child.pid, self.ended["tid"]) for tgid, tid, _ in window.ended)
        self.assertLessEqual(len(pids) + 1 - found, sum(window.head[name] for name in ("ended_lost", "ended_merged", "ended_unseen")))
        for row in window.ended.values():
            if row.name[:2] == (child.pid, self.ended["tid"]):
                self.assertGreaterEqual(row.values["run_time_ns"], self.ended["run_time_ns"])

    def test_the_host(self):
        with Child() as child:
            self.check_window(child, is_of_host=True)
        self.said("export", self.path("window"), "--to", "ktstr", "-q", "-o", self.path("rows"))
        self.assert_valid(self.path("rows"))

    def test_some_processes(self):
        with Child() as child:
            self.check_window(child, "-p", str(child.pid), is_of_host=False)

    def test_the_status_of_a_command_precedes_that_of_missing_data(self):
        """Under --strict, with a plugin that cannot be loaded: 3, unless the command failed by itself."""
        broken = self.here / "broken"
        broken.mkdir()
        (broken / "odd.so").write_text("no library\n")
        for command, status in (("exit 7", 7), ("exit 0", 3)):
            words = ("--no-sync", "-q", "--strict", "--plugin-path", str(broken), "-o", self.path("strict"))
            self.said("record", *words, "--", "sh", "-c", command, status=status)

    def test_for_a_time(self):
        self.said("record", "--no-sync", "-q", "-d", "100ms", "-o", self.path("window"))
        window = Window(self.path("window"))
        self.assertGreaterEqual(window.end["end"]["monotonic_ns"] - window.head["opened"]["monotonic_ns"], 100_000_000)
        self.assertIn(os.getpid(), {tgid for tgid, _, _ in window.living})


class Recorders(Case):
    def test_each_records_or_says_why_not(self):
        plugins = {plugin["name"] for plugin in json.loads(self.said("plugins", "--format", "json"))["plugins"]}
        with Child() as child:
            for recorder in RECORDERS:
                with self.subTest(recorder):
                    self.check(recorder, recorder in plugins, child)

    def check(self, recorder, is_built, child):
        path = self.path(recorder)
        done = harness.run("record", "--no-sync", "-q", "-d", "100ms", "-p", str(child.pid), "--recorders", recorder, "-o", path)
        if done.returncode == 0:
            self.assertTrue(is_built)
            Window(path)
            self.assert_readable(path, path)
            return
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertFalse(os.path.exists(path))
        refused = f"(starting the recorder '{recorder}'|the recorder '{recorder}' cannot record here): .+"
        sentence = refused if is_built else f"no loaded plugin has a recorder '{recorder}'.*"
        self.assertTrue(re.fullmatch(f"ctprof: {sentence}\n", done.stderr), done.stderr)
        missing.append(done.stderr.strip())


def tearDownModule():
    for sentence in dict.fromkeys(missing):
        print(f"not checked here: {sentence}", file=sys.stderr)


if __name__ == "__main__":
    harness.main()
