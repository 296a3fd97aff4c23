"""Helpers for tests of `record`: start it, wait until it has begun, and read its files without ctprof."""

import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
import harness  # noqa: E402

TIMEOUT = harness.TIMEOUT
SUFFIX = ".ctprof.zst"
STACK_METRICS = {"on-cpu": "oncpu_stacks", "off-cpu": "offcpu_stacks", "sleepers": "sleeping_stacks"}  # by recorder


def command(*words):
    return [harness.CTPROF, "record", "--no-sync", *map(str, words)]


def run(*words, **more):
    return subprocess.run(command(*words), capture_output=True, text=True, timeout=TIMEOUT, check=False, **more)


def read_lines(path):
    """Returns the lines of a columns file."""
    text = subprocess.run(["zstd", "-dcq", str(path)], check=True, capture_output=True).stdout
    return [json.loads(line) for line in text.splitlines()]


class RecordingCase(unittest.TestCase):
    """A test with a directory, `here`, and the path of a recording in it, `file`."""

    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.here = pathlib.Path(scratch.name)
        self.file = self.here / ("it" + SUFFIX)

    def require_bpf_rights(self):
        if os.geteuid() != 0:
            self.skipTest("needs permission to load BPF programs")


def wait_for(is_so, seconds=TIMEOUT):
    """Waits until is_so() is true, even briefly; returns whether it was."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if is_so():
            return True
        time.sleep(0.005)
    return bool(is_so())


def read_open_files(pid, directory, read):
    """Returns read(entry) for each open file of the process, where `entry` is in /proc/PID/fd or fdinfo. Skips files that are closed meanwhile."""
    results = []
    with contextlib.suppress(OSError):
        for entry in pathlib.Path(f"/proc/{pid}/{directory}").iterdir():
            with contextlib.suppress(OSError):
                results.append(read(entry))
    return results


def files_of_kind(pid, kind):
    """Returns the number of open anonymous inodes of the process whose kind starts with `kind`."""
    return sum(file.startswith(f"anon_inode:{kind}") for file in read_open_files(pid, "fd", os.readlink))


def object_ids(pid, kind):
    """Returns the ids of BPF objects of a kind, `prog` or `link`, that the process has open. The entry of a link also names its program."""
    text = "".join(read_open_files(pid, "fdinfo", pathlib.Path.read_text))
    return {int(number) for number in re.findall(rf"(?m)^{kind}_id:\s*(\d+)$", text)}


def program_ids(pid):
    return object_ids(pid, "prog")


def list_bpf_objects(kind):
    """Returns the BPF objects of the host by id, from bpftool; None if it fails."""
    finished = subprocess.run(["bpftool", "--json", kind, "show"], check=False, capture_output=True)
    return {entry["id"]: entry for entry in json.loads(finished.stdout)} if finished.returncode == 0 else None


def catches_interrupts(pid):
    """Returns whether the process has a handler for SIGINT: from then on Ctrl-C ends the window."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        caught = next(line for line in file if line.startswith("SigCgt:"))
    return int(caught.split()[1], 16) & 2 != 0


def is_pending(pid, number):
    """Returns whether a signal to the process is pending."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        pending = next(line for line in file if line.startswith("ShdPnd:"))
    return int(pending.split()[1], 16) >> (number - 1) & 1 == 1


class Recorder:
    """A `record` in the background, which has installed its signal handlers."""

    def __init__(self, *words, **more):
        self.process = subprocess.Popen(command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
        assert wait_for(lambda: self.process.poll() is not None or catches_interrupts(self.process.pid))

    def __enter__(self):
        return self

    def signal(self, number):
        self.process.send_signal(number)

    def finish(self):
        """Waits for the exit; returns the status and the standard error."""
        results = self.process.communicate(timeout=TIMEOUT)[1]
        return self.process.returncode, results

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


# The counters that a thread advances while it runs or waits, and the gauge of the time that they do not contain yet.
IN_PROGRESS = {"run_time_ns": "run_in_progress_ns", "wait_time_ns": "wait_in_progress_ns"}


class Row:
    """A thread: its values at the end and, for cumulative metrics, at the beginning."""

    def __init__(self, values, bases, born):
        self.values, self.bases, self.born = values, bases, born
        self.name = values["tgid"], values["tid"], values["start_time_clock_ticks"]

    def difference(self, metric):
        end, base = time_at(self.values, metric), 0 if self.born else time_at(self.bases, metric)
        return None if base is None or end is None else end - base


def time_at(cells, metric):
    """Returns the value plus the time that is in progress. Returns None if the value is missing, or if the thread is runnable and
    its time in progress is missing."""
    value, progress = cells[metric], cells.get(IN_PROGRESS.get(metric))
    if value is None or metric not in IN_PROGRESS:
        return value
    return value + progress if progress is not None else None if cells.get("state") == "R" else value


class Window:
    """A window file: `head` is its window line; `living` and `ended` are threads by (tgid, tid, start); `processes` are columns."""

    def __init__(self, path):
        lines = read_lines(path)
        assert lines[-1]["kind"] == "end", "incomplete file"
        self.head = next(line for line in lines if line["kind"] == "window")
        self.start = lines[0]["ctprof"]["start"]
        self.left_out = lines[0]["ctprof"].get("left_out")
        self.end = next(line for line in lines if line["kind"] == "summary")["ctprof"]
        based = {name for one in self.head["bases"] if one["entity"] == "thread" for name in one["columns"]}
        self.living = rows((line for line in lines if line["kind"] == "table" and line["entity"] == "thread"), based)
        self.ended = rows((line for line in lines if line["kind"] == "exited"), based)
        self.processes = next((line["columns"] for line in lines if line["kind"] == "table" and line["entity"] == "process"), {})

    def of(self, pid):
        """Returns the living threads of a process."""
        return [row for row in self.living.values() if row.name[0] == pid]


def rows(blocks, based):
    """Returns rows by name. `based` are the columns with bases; bases that a block omits equal the values at the end."""
    found = {}
    for block in blocks:
        columns = block["columns"]
        bases = {name: columns[name] for name in based & columns.keys()} | block.get("bases", {})
        born = set(block.get("born", ()))
        for at in range(len(columns["tid"])):
            row = Row({name: cells[at] for name, cells in columns.items()}, {name: cells[at] for name, cells in bases.items()},
                      block["first_row"] + at in born)
            found[row.name] = row
    return found


def files_in(directory):
    return sorted(os.listdir(directory))
