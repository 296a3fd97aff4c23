"""The output of one guest: its captures, plain copies and notes.

In scope:       finding and loading files.
Out of scope:   checking them (checks_*.py).
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


class GuestOutput:
    """The output of a guest with `kernel` in the directory `out`. Its captures are those of one layout. `ctprof` runs on this host."""

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

    def key_values(self, name):
        """Parses lines `key value ...`."""
        return dict(line.split(" ", 1) for line in self.text(name).splitlines() if " " in line)

    @functools.cached_property
    def notes(self):
        return self.key_values("notes")

    @functools.cached_property
    def statuses(self):
        """Returns a map capture -> exit status of ctprof."""
        return {name: int(status) for name, status in self.key_values(f"captures/{self.layout}/statuses").items()}

    def log_of(self, capture):
        return self.text(f"captures/{self.layout}/{capture}.log")

    @functools.cache
    def file(self, capture):
        path = os.path.join(self.out, "captures", self.layout, f"{capture}.ctprof.zst")
        return file_json.load(self.export_rows(path) if self.layout == "columns" else path)

    def export_rows(self, path):
        """Exports a columns file to the rows layout, which the plain reader of files supports."""
        rows = path.replace(".ctprof.zst", ".as-rows.ctprof.zst")
        subprocess.run([self.ctprof, "export", "-q", path, "--to", "ktstr", "-o", rows], check=True, capture_output=True)
        return rows

    def plain(self, name):
        return os.path.join(self.out, "plain", name)

    @functools.cache
    def plain_threads(self, name):
        """Returns a map (tgid, tid) -> every column of procfs-sched and taskstats, for the threads of the test programs."""
        tree = plain_reader.Tree(self.plain(name))
        return {pair: plain_reader.read_thread(tree, *pair) | self.plain_delays(name, pair[1]) for pair in tree.threads()}

    def taskstats_struct(self, name, tid):
        with open(os.path.join(self.plain(name), "taskstats", str(tid)), "rb") as file:
            return file.read()

    def plain_delays(self, name, tid):
        delays = plain_taskstats.metrics_of(plain_taskstats.fields_of(self.taskstats_struct(name, tid)), counts_interrupts=False)
        return {metric: value for metric, value in delays.items() if metric not in plain_taskstats.OTHER_FIELDS}

    @functools.cached_property
    def taskstats_version(self):
        """Returns the version in any of the recorded structs."""
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

    def threads_named(self, capture, comm):
        """Returns the threads with this name."""
        return {key: row for key, row in self.file(capture).threads.items() if row["comm"] == comm.encode()}
