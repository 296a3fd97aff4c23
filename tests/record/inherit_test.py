#!/usr/bin/python3
"""`record --pid`: children that the processes fork during the window are included, in rows and in the stacks of each recorder; with
`--no-inherit` they are not.

Environment: CTPROF"""

import collections
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import recording  # noqa: E402
from recording import harness, run  # noqa: E402

# Forks a child every 100 ms. Most children work, sleep and exit. One child works forever, and so does an orphan whose parent exits immediately.
FAMILY = r"""
import os, time
def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
def work_on():
    while os.getppid() != -1:
        work(0.01)
        time.sleep(0.01)
def orphan():
    if os.fork() == 0:
        print("lives", os.getpid(), flush=True)
        work_on()
    os._exit(0)
parent = os.getpid()
print("ready", flush=True)
input()
for number in range(1000):
    if os.fork() == 0:
        if number == 3:
            print("lives", os.getpid(), flush=True)
            work_on()
        if number == 5:
            orphan()
        work(0.03)
        time.sleep(0.03)
        os._exit(0)
    time.sleep(0.1)
    try:
        while os.waitpid(-1, os.WNOHANG)[0] > 0:
            pass
    except ChildProcessError:
        pass
"""
RECORDERS = {metric: recorder for recorder, metric in recording.STACK_METRICS.items()}


class Family:
    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-c", FAMILY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.pid = self.process.pid
        assert self.process.stdout.readline() == "ready\n"

    def __enter__(self):
        return self

    def begin(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def lasting(self):
        return {int(self.process.stdout.readline().split()[1]) for _ in range(2)}

    def __exit__(self, *_):
        os.killpg(self.pid, 9)
        self.process.communicate()


def observes_exits(pid):
    """Returns whether ctprof observes forks and exits: later children start in its window. The program for exits is attached last."""
    texts = recording.read_open_files(pid, "fdinfo", pathlib.Path.read_text)
    attached = {int(found[1]) for text in texts if "link_id:" in text and (found := re.search(r"(?m)^prog_id:\s*(\d+)$", text))}
    programs = recording.list_bpf_objects("prog") if attached else {}
    return any(programs.get(program, {}).get("name") == "on_last_switch" for program in attached)


def weights(path):
    """Returns a map metric -> process -> weight."""
    lines = recording.read_lines(path)
    tgids = {}
    for line in lines:
        if line["kind"] == "exited" or (line["kind"] == "table" and line["entity"] == "thread"):
            for at, tgid in enumerate(line["columns"]["tgid"]):
                tgids[line["first_row"] + at] = tgid
    found = collections.defaultdict(collections.Counter)
    for line in lines:
        if line["kind"] == "stacks" and line["part"] == "weights":
            for row, weight in zip(line["row"], line["weight"]):
                found[line["metric"]][tgids[row]] += weight
    return found


class InheritedSelection(recording.RecordingCase):
    def setUp(self):
        super().setUp()
        self.require_bpf_rights()

    def record_family(self, *words):
        """Records. Returns the pid of the parent, the pids of the lasting children, and the window."""
        with Family() as family:
            recorder = recording.Recorder("-o", self.file, "--metrics", "run_time_ns", "-p", family.pid, *words)
            with recorder:
                self.assertTrue(recording.wait_for(lambda: observes_exits(recorder.process.pid)))
                family.begin()
                lasting = family.lasting()
                time.sleep(2)
                recorder.signal(signal.SIGINT)
                status, messages = recorder.finish()
            self.assertEqual(status, 0, messages)
            return family.pid, lasting, recording.Window(self.file)

    def test_rows_and_all_recorders_follow_children(self):
        parent, lasting, window = self.record_family("--recorders", ",".join(RECORDERS.values()), "--freq", "999", "--sleepers-freq", "50")
        self.assertLessEqual(lasting | {parent}, {row.name[0] for row in window.living.values()})
        exited_tgids = {row.name[0] for row in window.ended.values()}
        self.assertGreater(len(exited_tgids), 5)
        found = weights(self.file)
        for metric, recorder in RECORDERS.items():
            with self.subTest(recorder):
                self.assertLessEqual(lasting, set(found[metric]))
                self.assertGreater(len(exited_tgids & set(found[metric])), len(exited_tgids) // 3)

    def test_each_recorder_follows_children_by_itself(self):
        for metric, recorder in RECORDERS.items():
            with self.subTest(recorder):
                _, lasting, window = self.record_family("--recorders", recorder, "--freq", "999", "--sleepers-freq", "50")
                self.assertLessEqual(lasting, {row.name[0] for row in window.living.values()})
                self.assertLessEqual(lasting, set(weights(self.file)[metric]))
                self.file.unlink()

    def test_without_recorders_rows_follow_children(self):
        parent, lasting, window = self.record_family()
        self.assertLessEqual(lasting | {parent}, {row.name[0] for row in window.living.values()})
        self.assertGreater(len(window.ended), 5)

    def test_no_inherit_excludes_children(self):
        parent, _, window = self.record_family("--no-inherit", "--recorders", ",".join(RECORDERS.values()))
        self.assertEqual({row.name[0] for row in [*window.living.values(), *window.ended.values()]}, {parent})
        for metric, by_process in weights(self.file).items():
            self.assertLessEqual(set(by_process), {parent}, metric)

    def test_other_processes_are_excluded(self):
        with harness.busy_process() as busy:
            parent, _, window = self.record_family("--recorders", ",".join(RECORDERS.values()), "--freq", "999")
        tgids = {row.name[0] for row in [*window.living.values(), *window.ended.values()]}
        self.assertNotIn(busy.pid, tgids)
        self.assertNotIn(1, tgids)
        self.assertIn(parent, tgids)

    def test_windows_back_to_back_follow_children(self):
        with Family() as family:
            directory = self.file.parent / "windows"
            family.begin()  # all children are forked in some window
            finished = run("-d", "1s", "--repeat", "3", "-o", directory, "--metrics", "run_time_ns", "-p", family.pid, "--recorders", "sleepers")
            self.assertEqual(finished.returncode, 0, finished.stderr)
            lasting = family.lasting()
        seen = [{row.name[0] for row in recording.Window(path).living.values()} for path in sorted(directory.iterdir())]
        born_inside = lasting & seen[0]
        for later in seen[1:]:
            self.assertLessEqual(born_inside, later)


if __name__ == "__main__":
    unittest.main()
