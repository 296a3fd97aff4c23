#!/usr/bin/python3
"""Captures and recordings of any host under any load: their files are valid, and agree with the measurements of a child process.

All assertions hold on any host at any load. If the host lacks something, such as a recorder, the reason must be one clear sentence; the end of
the output lists all of them. tests/parity and tests/record (part live) compare more.

Environment: CTPROF.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

for _directory in ("parity", "record"):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / _directory))
import file_json  # noqa: E402
import harness  # noqa: E402
import layout_checker  # noqa: E402
from file_json import Gap  # noqa: E402
from recording import Window  # noqa: E402

CHILD = [sys.executable, str(pathlib.Path(__file__).resolve().parent / "child.py")]
# What a thread can measure itself with the same counters of the kernel; none of them ever decreases.
MEASURED_METRICS = ["run_time_ns", "minflt", "majflt", "voluntary_csw", "nonvoluntary_csw"]
RECORDERS = ["on-cpu", "off-cpu", "sleepers"]
FORKS = 5
DRIFT = 1.001  # between the clock of the scheduler and the wall clock
unsupported = []  # sentences about what this host does not support


class Child:
    """Runs child.py and sends it commands."""

    def __enter__(self):
        self.process = subprocess.Popen(CHILD, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        return self

    def send(self, line):
        print(line, file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def measure(self):
        """Returns {thread id: usage}."""
        return {usage["tid"]: usage for usage in self.send("measure")}

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(harness.TIMEOUT)


class Case(unittest.TestCase):
    longMessage = False

    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.directory = pathlib.Path(scratch.name)

    def path(self, name):
        return str(self.directory / f"{name}.ctprof.zst")

    def run_ctprof(self, *words, status=0):
        """Runs ctprof. Returns its standard output."""
        finished = harness.run(*words)
        self.assertEqual(finished.returncode, status, f"{words}: {finished.stderr}")
        return finished.stdout

    def assert_readable(self, *paths):
        """Checks that `show` and `compare` read the files in each format."""
        for output_format in ("text", "json", "csv"):
            self.run_ctprof("show", paths[0], "--format", output_format)
            self.run_ctprof("compare", *paths, "--lifetime", "--format", output_format)
            self.run_ctprof("compare", *paths, "--format", output_format)

    def assert_valid(self, path):
        """Checks the layout, and that each column has as many values and gaps as rows. Returns the file."""
        self.assertEqual(layout_checker.check_file(path), [])
        file = file_json.load(path)
        self.assertEqual(list(file.faults()), [])
        return file

    def assert_between(self, metric, low, value, high):
        """Checks `value`; if it is a gap, stores its reason in `unsupported`."""
        if isinstance(value, Gap) or value is None:
            unsupported.append(f"{metric} of the child process: {value}")
        else:
            self.assertTrue(low <= value <= high, f"{metric} is {value}, not between {low} and {high}")


class Captures(Case):
    def capture(self, *words):
        """Captures the child. Returns the checked file."""
        output = json.loads(self.run_ctprof("capture", *words, "-o", self.path("child"), "--format", "json"))
        file = self.assert_valid(self.path("child"))
        self.check_skew(output, file)
        return file

    def check_skew(self, output, file):
        """Checks that all rows were read within the skew, and that the skew is at most the time of the capture."""
        facts, read_at = file.document["ctprof"], file.document["read_at"]
        self.assertEqual((output["skew_ns"], output["thread_skew_ns"]), (facts["skew_ns"], facts["thread_skew_ns"]))
        self.assertEqual(len(read_at), output["threads"])
        self.assertLessEqual(max(read_at) - min(read_at), output["thread_skew_ns"])
        self.assertLessEqual(output["thread_skew_ns"], output["skew_ns"])
        self.assertLessEqual(output["skew_ns"], output["collect_ns"])
        read = [source for source in facts["sources"] if source["wall_ns"]]
        last = max(source["start_ns"] + source["wall_ns"] for source in read)
        self.assertLessEqual(last - min(source["start_ns"] for source in read), output["skew_ns"])

    def check_child(self, child, *words):
        before = child.measure()
        file = self.capture(*words)
        after = child.measure()
        rows = {tid: row for (tgid, tid), row in file.threads.items() if tgid == child.pid}
        self.assertEqual(set(rows), {child.pid, *before})
        for tid, row in rows.items():
            for metric in MEASURED_METRICS if tid in before else ():
                self.assert_between(metric, before[tid][metric], row.get(metric, Gap("no column")), after[tid][metric])
        return file

    def test_captures_the_whole_host(self):
        """Checks captures with every plugin that works here, and with only the files of /proc."""
        with Child() as child:
            for words in (), ("--plugins=procfs-sched",):
                with self.subTest(words):
                    child.send("work")
                    self.check_child(child, *words)
            self.assert_readable(self.path("child"), self.path("child"))

    def test_captures_one_process(self):
        with Child() as child:
            for layout in "rows", "columns":
                path = self.path(layout)
                self.run_ctprof("capture", "-q", "-p", str(child.pid), "--layout", layout, "-o", path)
            file = self.check_child(child, "-p", str(child.pid))
        self.assertEqual({tgid for tgid, _ in file.threads}, {child.pid})
        self.assert_readable(self.path("rows"), self.path("columns"))


class Windows(Case):
    def record(self, child, *words):
        """Records a window. Returns the usage of the child's threads before the window, when it is open, before its end, and after it. The recorded
        command opens and closes the window through pipes. Inside, threads work, start and exit, and processes run."""
        opened, end = self.directory / "opened", self.directory / "end"
        os.mkfifo(opened)
        os.mkfifo(end)
        before = child.measure()
        command = ["sh", "-c", 'echo >"$0"; read line <"$1"', str(opened), str(end)]
        with subprocess.Popen([harness.CTPROF, "record", "--no-sync", "-o", self.path("window"), *words, "--", *command], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) as recorder:
            opened.read_text(encoding="ascii")
            inside = [child.measure()]
            self.exited = child.send("shrink")
            self.started_tid = child.send("grow")
            child.send("work")
            self.forked_pids = child.send(f"fork {FORKS}")
            inside.append(child.measure())
            end.write_text("\n", encoding="ascii")
            output = recorder.communicate(timeout=harness.TIMEOUT)[1]
        self.assertEqual(recorder.returncode, 0, output)
        return before, *inside, child.measure()

    def check_window(self, child, *words, records_whole_host):
        before, first, last, after = self.record(child, *words)
        window = Window(self.path("window"))
        rows = {row.name[1]: row for row in window.of(child.pid)}
        self.assertEqual(set(rows), {child.pid, *after})
        for tid in after.keys() & before.keys():
            for metric in MEASURED_METRICS:
                difference = rows[tid].difference(metric) if metric in rows[tid].values else None
                self.assert_between(metric, last[tid][metric] - first[tid][metric], difference, after[tid][metric] - before[tid][metric])
            self.check_busy_time(rows[tid], after[tid]["monotonic_ns"] - before[tid]["monotonic_ns"])
        self.assertTrue(rows[self.started_tid].born)
        for metric in MEASURED_METRICS:
            self.assert_between(metric, last[self.started_tid][metric], rows[self.started_tid].values.get(metric), after[self.started_tid][metric])
        self.check_exited_rows(window, child, self.forked_pids if records_whole_host else [])
        self.assert_readable(self.path("window"), self.path("window"))

    def check_busy_time(self, row, wall_ns):
        """Checks that no thread runs and waits for longer than the wall time."""
        busy_ns = [row.difference(metric) for metric in ("run_time_ns", "wait_time_ns") if metric in row.values]
        self.assertLessEqual(sum(filter(None, busy_ns)), wall_ns * DRIFT)

    def check_exited_rows(self, window, child, pids):
        """Checks that each of these processes and the exited thread has a row, or is counted among those without one. If exits are not recorded,
        the file must state that."""
        if not window.head.get("sees_ends"):
            unsupported.append("exited threads of a window")
            self.assertEqual(window.ended, {})
            return
        found = sum(tgid in pids or (tgid, tid) == (child.pid, self.exited["tid"]) for tgid, tid, _ in window.ended)
        self.assertLessEqual(len(pids) + 1 - found, sum(window.head[name] for name in ("ended_lost", "ended_merged", "ended_unseen")))
        for row in window.ended.values():
            if row.name[:2] == (child.pid, self.exited["tid"]):
                self.assertGreaterEqual(row.values["run_time_ns"], self.exited["run_time_ns"])

    def test_records_the_whole_host(self):
        with Child() as child:
            self.check_window(child, records_whole_host=True)
        self.run_ctprof("export", self.path("window"), "--to", "ktstr", "-q", "-o", self.path("rows"))
        self.assert_valid(self.path("rows"))

    def test_records_one_process(self):
        with Child() as child:
            self.check_window(child, "-p", str(child.pid), records_whole_host=False)

    def test_exit_status_of_command_precedes_that_of_missing_data(self):
        """Under --strict, with a plugin that cannot be loaded: exit status 3, unless the command itself failed."""
        plugin_directory = self.directory / "plugins"
        plugin_directory.mkdir()
        (plugin_directory / "invalid.so").write_text("not a library\n")
        for command, status in (("exit 7", 7), ("exit 0", 3)):
            words = ("--no-sync", "-q", "--strict", "--plugin-path", str(plugin_directory), "-o", self.path("strict"))
            self.run_ctprof("record", *words, "--", "sh", "-c", command, status=status)

    def test_records_for_a_duration(self):
        self.run_ctprof("record", "--no-sync", "-q", "-d", "100ms", "-o", self.path("window"))
        window = Window(self.path("window"))
        self.assertGreaterEqual(window.end["end"]["monotonic_ns"] - window.head["opened"]["monotonic_ns"], 100_000_000)
        self.assertIn(os.getpid(), {tgid for tgid, _, _ in window.living})


class Recorders(Case):
    def test_each_recorder_works_or_reports_why_not(self):
        plugins = {plugin["name"] for plugin in json.loads(self.run_ctprof("plugins", "--format", "json"))["plugins"]}
        with Child() as child:
            for recorder in RECORDERS:
                with self.subTest(recorder):
                    self.check_recorder(recorder, recorder in plugins, child)

    def check_recorder(self, recorder, is_built, child):
        path = self.path(recorder)
        finished = harness.run("record", "--no-sync", "-q", "-d", "100ms", "-p", str(child.pid), "--recorders", recorder, "-o", path)
        if finished.returncode == 0:
            self.assertTrue(is_built)
            Window(path)
            self.assert_readable(path, path)
            return
        self.assertEqual(finished.returncode, 2, finished.stderr)
        self.assertFalse(os.path.exists(path))
        failure = f"(starting the recorder '{recorder}'|cannot start the recorder '{recorder}'): .+"
        sentence = failure if is_built else f"no loaded plugin has a recorder '{recorder}'.*"
        self.assertTrue(re.fullmatch(f"ctprof: {sentence}\n", finished.stderr), finished.stderr)
        unsupported.append(finished.stderr.strip())


def tearDownModule():
    for sentence in dict.fromkeys(unsupported):
        print(f"not checked here: {sentence}", file=sys.stderr)


if __name__ == "__main__":
    harness.main()
