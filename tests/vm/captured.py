"""What one guest left: its captures, plain copies and notes.

What is here:   finding and loading them.
What is not:    judging (the checks_*.py).
"""

import functools
import glob
import os
import subprocess
import sys

from image import HERE

sys.path.append(os.path.join(HERE, "..", "parity"))
import file_json  # noqa: E402  pylint: disable=wrong-import-position
import plain_cgroups  # noqa: E402  pylint: disable=wrong-import-position
import plain_reader  # noqa: E402  pylint: disable=wrong-import-position
import plain_taskstats  # noqa: E402  pylint: disable=wrong-import-position

Gap = file_json.Gap


LAYOUTS = ("rows", "columns")


class Left:
    """`kernel` and what it left in the directory `out`: the captures in one of the layouts. `ctprof` runs here."""

    def __init__(self, kernel, out, layout, ctprof):
        self.kernel = kernel
        self.out = out
        self.layout = layout
        self.ctprof = ctprof

    def text(self, name):
        try:
            with open(os.path.join(self.out, name), encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def pairs(self, name):
        """Of lines `key value ...`."""
        return dict(line.split(" ", 1) for line in self.text(name).splitlines() if " " in line)

    @functools.cached_property
    def notes(self):
        return self.pairs("notes")

    @functools.cached_property
    def statuses(self):
        """Capture -> ctprof's exit status."""
        return {name: int(status) for name, status in self.pairs(f"captures/{self.layout}/statuses").items()}

    def said(self, capture):
        return self.text(f"captures/{self.layout}/{capture}.log")

    @functools.cache
    def file(self, capture):
        path = os.path.join(self.out, "captures", self.layout, f"{capture}.ctprof.zst")
        return file_json.load(self.as_rows(path) if self.layout == "columns" else path)

    def as_rows(self, path):
        """Columns as the plain reader of files knows them."""
        rows = path.replace(".ctprof.zst", ".as-rows.ctprof.zst")
        subprocess.run([self.ctprof, "export", "-q", path, "--to", "ktstr", "-o", rows], check=True, capture_output=True)
        return rows

    def plain(self, name):
        return os.path.join(self.out, "plain", name)

    @functools.cache
    def plain_threads(self, name):
        """(tgid, tid) -> every column of procfs-sched and taskstats, of our own threads."""
        tree = plain_reader.Tree(self.plain(name))
        return {pair: plain_reader.read_thread(tree, *pair) | self.plain_delays(name, pair[1]) for pair in tree.threads()}

    def struct(self, name, tid):
        with open(os.path.join(self.plain(name), "taskstats", str(tid)), "rb") as file:
            return file.read()

    def plain_delays(self, name, tid):
        delays = plain_taskstats.metrics_of(plain_taskstats.fields_of(self.struct(name, tid)), counts_interrupts=False)
        return {metric: value for metric, value in delays.items() if metric not in plain_taskstats.OTHER_FIELDS}

    @functools.cached_property
    def taskstats_version(self):
        """Of any struct that came."""
        path = glob.glob(os.path.join(self.plain("*"), "taskstats", "*"))[0]
        with open(path, "rb") as file:
            return int.from_bytes(file.read(2), "little")

    def plain_rollup(self, name, tgid):
        return plain_reader.read_smaps_rollup(plain_reader.Tree(self.plain(name)), tgid)

    def plain_cgroups(self, name):
        return plain_cgroups.Cgroups(self.plain(name))

    def rows(self, capture, entity):
        file = self.file(capture)
        return {"thread": file.threads, "process": file.processes, "cgroup": file.cgroups_by_path(), "host": {b"": file.host}}[entity]

    def named(self, capture, comm):
        """The threads of that name."""
        return {key: row for key, row in self.file(capture).threads.items() if row["comm"] == comm.encode()}
