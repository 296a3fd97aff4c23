"""Tests of plugins of ctprof: captures of a tree that the test contains as text, and `ctprof plugin check`.

    import ctprof_testing as testing

    TREE = testing.make_tree({(7, 7): {"status": "voluntary_ctxt_switches:\\t40\\n"}, (7, 8): {}})

    with testing.Tree(TREE) as tree:
        done = testing.capture(tree, "build", "hello")
        assert done.rows("hello_switches") == {"7/7": 40, "7/8": testing.Gap("ThreadGone")}
        assert testing.check("build/hello.so", tree).faults == []

The module runs the program in the environment variable CTPROF, or `ctprof` in the path. It needs Python 3.9 and nothing else. `ctprof/testing.hpp`
does the same for plugins in C++ in the process of the test, where a debugger and sanitizers see the plugin.
"""

import json
import os
import pathlib
import subprocess
import tempfile

# The line of /proc/TGID/task/TID/stat of a sleeping thread; ctprof reads the start time from it.
STAT = "{tid} (work) S 1 {tgid} {tgid} 0 -1 4194560 0 0 0 0 5 6 0 0 20 0 2 0 100 0 0 0\n"


class Gap(str):
    """The name of a gap: the reason why a cell has no value. It differs from a text of the same content."""

    __slots__ = ()

    def __eq__(self, other):
        return isinstance(other, Gap) and str.__eq__(self, other)

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__

    def __repr__(self):
        return f"Gap({str(self)!r})"


class Failure(Exception):
    """ctprof failed; the text contains its command, status and messages."""


def run(*words, statuses=(0,)):
    """Runs ctprof. Returns its standard output; raises Failure for another exit status."""
    program = os.environ.get("CTPROF", "ctprof")
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode not in statuses:
        raise Failure(f"{program} {' '.join(map(str, words))}: status {done.returncode}\n{done.stderr}")
    return done.stdout


def make_tree(threads, files=None):
    """Returns the files of a host by path, as ctprof needs them at least.

    `threads` has an item for each thread: (TGID, TID), and its files in /proc/TGID/task/TID by name. The files of its main thread are also those of
    the process. `files` has further files by path, such as "proc/stat" or "sys/fs/cgroup/cgroup.controllers".
    """
    tree = {"proc/stat": "cpu  1 2 3\n"}
    for (tgid, tid), own in threads.items():
        texts = {"comm": "work\n", "cgroup": "0::/a.slice\n", "stat": STAT.format(tgid=tgid, tid=tid)} | own
        directories = [f"proc/{tgid}/task/{tid}"] + ([f"proc/{tgid}"] if tgid == tid else [])
        tree |= {f"{directory}/{name}": text for directory in directories for name, text in texts.items()}
    return tree | (files or {})


class Tree:
    """A directory with files, given as text by path without a leading slash. Use it as a context manager, which removes the directory."""

    def __init__(self, files):
        self.directory = tempfile.TemporaryDirectory(prefix="ctprof-tree-")
        os.chmod(self.directory.name, 0o755)  # `plugin check` runs as nobody if the user is root
        self.path = pathlib.Path(self.directory.name)
        for path, text in files.items():
            self.write(path, text)

    def write(self, path, text):
        """Creates or replaces a file."""
        file = self.path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())

    def remove(self, path):
        """Removes a file."""
        (self.path / path).unlink()

    def process_of(self, tid):
        """Returns the id of the process of a thread."""
        return next(path.parts[-3] for path in self.path.glob(f"proc/[0-9]*/task/{tid}"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.directory.cleanup()


class Capture:
    """The cells of one capture, by metric and row, and the messages of ctprof on standard error."""

    def __init__(self, cells):
        self.cells = cells

    def rows(self, metric):
        """Returns the cells of a metric by row: a number, a text, a dict for a map, or a Gap.

        The name of a row is "TGID/TID" for a thread, "TGID" for a process, the path for a cgroup, and "host" for the host. Raises KeyError if the
        capture has no such metric. A flag is 0 or 1, and a set of CPUs is a text such as "0-3,8".
        """
        return self.cells[metric]


def cell_of(row):
    """Returns the cell of a row of the long form."""
    if row["gap"] is not None:
        return Gap(row["gap"])
    if row["text"] is not None:
        return row["text"]
    value = row["value"] if row["exact"] is None else row["exact"]
    return value if row["key"] is None else {row["key"]: value}


def capture(tree, plugin_directory, *plugins, settings=(), entity=None):
    """Captures a tree with the plugins of these names, which are in a directory. `settings` are texts such as "hello.depth=3". With `entity`, the
    cells are those of an entity that a plugin adds; the name of a row is its identity."""
    words = ["--rootfs", tree.path, "--plugin-path", plugin_directory, "--plugins", ",".join(plugins)]
    for setting in settings:
        words += ["--set", setting]
    with tempfile.TemporaryDirectory(prefix="ctprof-capture-") as directory:
        file = f"{directory}/test.ctprof.zst"
        run(*words, "capture", "-q", "--layout", "columns", "-o", file)
        more = ["--entity", entity] if entity else []
        run("export", file, "-q", "--to", "ndjson", "--rows", "long", "-o", f"{directory}/long.ndjson", *more)
        lines = pathlib.Path(directory, "long.ndjson").read_text(encoding="utf-8").splitlines()
    cells = {}
    for row in map(json.loads, lines):
        add_cell(tree, row, cells)
    return Capture(cells)


def export(tree, plugin_directory, name, settings=()):
    """Captures a tree with the plugins of ctprof and exports it to an output plugin. Returns the text that the plugin wrote."""
    words = ["--plugin-path", plugin_directory]
    for setting in settings:
        words += ["--set", setting]
    with tempfile.TemporaryDirectory(prefix="ctprof-export-") as directory:
        file = f"{directory}/test.ctprof.zst"
        run("--rootfs", tree.path, "capture", "-q", "--layout", "columns", "-o", file)
        run("export", file, "-q", *words, "--to", name, "-o", f"{directory}/output")
        return pathlib.Path(directory, "output").read_text(encoding="utf-8")


def add_cell(tree, row, cells):
    """Adds a row of the long form to cells. The keys of a map are separate rows."""
    name = row["id"]
    if row["entity"] == "thread":
        tid = name.split("@")[0]
        name = f"{tree.process_of(tid)}/{tid}"
    elif row["entity"] == "cgroup":
        name = name.split("@")[0]
    rows = cells.setdefault(row["metric"], {})
    cell = cell_of(row)
    rows[name] = {**rows.get(name, {}), **cell} if isinstance(cell, dict) else cell


class Report:
    """The report of `ctprof plugin check`: lists of sentences."""

    def __init__(self, document):
        self.faults, self.notes, self.costs = document["faults"], document["notes"], document["costs"]


def check(library, tree=None):
    """Checks a plugin on a tree, or on this host."""
    words = ["plugin", "check", library, "--format", "json"] + (["--rootfs", tree.path] if tree else [])
    return Report(json.loads(run(*words, statuses=(0, 1))))
