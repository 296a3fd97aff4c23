#!/usr/bin/python3
"""Computes the first screen of a window of this host independently from the file: values, scores, order, and omitted rows.

The file defines the headlines, except blocked time, which is the rest of the threads' wall time.
"""

import collections
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import recording  # noqa: E402
from recording import harness, run  # noqa: E402
from cgroups_test import cgroup, join, may_make_cgroups  # noqa: E402
from patterns import thread_keys  # noqa: E402

PERCENT, RATE, LEVEL = range(3)
BLOCKED = {"label": "%blocked", "order": 30, "shown": PERCENT, "by_change": True, "floor": 1e7}
# Values of a cell without a number.
UNKNOWN, MEANINGLESS = None, "NotApplicable"


class Column:
    """One metric at one end of the window. The cell of a row is a number, UNKNOWN, or MEANINGLESS."""

    def __init__(self, cells, gaps, names):
        reasons = [names[code] for code, count in zip(gaps[::2], gaps[1::2]) for _ in range(count)]
        found = iter(reasons or [UNKNOWN] * len(cells))
        self.cells = [cell if cell is not None else MEANINGLESS if next(found) == MEANINGLESS else UNKNOWN for cell in cells]


class Table:
    """The rows of all blocks of an entity: their values at the end and, for metrics with bases, at the beginning."""

    def __init__(self, blocks, based, gap_names):
        self.rows, self.now, self.then, self.born, self.seen = 0, {}, {}, [], []
        for block in blocks:
            count = len(next(iter(block["columns"].values())))
            self._take(self.now, block["columns"], block["gaps"], gap_names, count)
            self._take(self.then, block["bases"], block["base_gaps"], gap_names, count)
            for name in based - block["bases"].keys():  # omitted bases equal the end
                then = self.then.setdefault(name, [MEANINGLESS] * (self.rows + count))
                then[self.rows:] = self.now.get(name, then)[self.rows:]
            self.born += [block["first_row"] + row in set(block["born"]) for row in range(count)]
            self.seen += block.get("seen", [])
            self.rows += count

    def _take(self, into, columns, gaps, gap_names, count):
        runs = {name: gap["runs"] for gap in gaps for name in gap["columns"]}
        for name, cells in columns.items():
            before = into.setdefault(name, [MEANINGLESS] * self.rows)
            before += Column(cells, runs.get(name, []), gap_names).cells
        for cells in into.values():
            cells += [MEANINGLESS] * (self.rows + count - len(cells))

    def cell(self, name, row):
        return self.now.get(name, [UNKNOWN] * self.rows)[row]

    def base(self, name, row):
        return 0 if self.born[row] else self.then.get(name, [UNKNOWN] * self.rows)[row]


def is_number(cell):
    return isinstance(cell, (int, float)) and not isinstance(cell, bool)


class File:
    def __init__(self, path):
        lines = recording.read_lines(path)
        of_kind = lambda kind, entity: [line for line in lines if line["kind"] == kind and line.get("entity") == entity]
        self.registry = lines[0]["registry"]
        names = lines[0]["gap_names"]
        window = next(line for line in lines if line["kind"] == "window")
        self.living = window["living"]
        self.own = set(next(line for line in lines if line["kind"] == "summary")["ctprof"]["own_threads"])
        based = {one["entity"]: set(one["columns"]) for one in window["bases"]}
        self.threads = Table(of_kind("table", "thread") + of_kind("exited", "thread"), based["thread"], names)
        self.processes = Table(of_kind("table", "process"), based["process"], names)
        self.hosts = Table(of_kind("table", "host"), based["host"], names)
        self.memory = lines[0]["host"]["total_memory_kib"] * 1024
        self.rates_over = self.mean_time(of_kind("table", "thread"))
        self.exited = {entity: [row for line in of_kind("opening", entity) for row in self.opening_cells(line, names)] for entity in ("thread", "process")}

    @staticmethod
    def opening_cells(line, names):
        """Returns a map metric -> cell for each row that is only in the opening."""
        runs = {name: gap["runs"] for gap in line["gaps"] for name in gap["columns"]}
        columns = {name: Column(cells, runs.get(name, []), names).cells for name, cells in line["columns"].items()}
        return [dict(zip(columns, cells)) for cells in zip(*columns.values())]

    def mean_time(self, lines):
        """Returns the mean time between both reads of threads that existed during the whole window."""
        seen = [moments for line in lines for moments in line["seen"]]
        times = [last - first for (first, last), born in zip(seen, self.threads.born) if first and not born]
        return sum(times) / len(times)

    def metrics(self):
        return {metric["name"]: metric for metric in self.registry["metrics"]}

    def of_host(self, role):
        """Returns the difference of a counter of the host in the window, or a gauge at its end; 0 if unknown."""
        metric = next((metric for metric in self.registry["metrics"] if metric.get("role") == role), None)
        if not metric or not is_number(now := self.hosts.cell(metric["name"], 0)):
            return 0
        return now - self.hosts.base(metric["name"], 0) if metric["family"] == "cumulative" else now

    def with_role(self, role):
        return next(metric["name"] for metric in self.registry["metrics"] if metric.get("role") == role)


class Differences:
    """The differences of each thread in the window, by metric."""

    def __init__(self, file):
        self.file, self.threads = file, file.threads
        self.times = {file.with_role(role): file.with_role(role + "-in-progress") for role in ("run-time", "wait-time")}
        self.state = file.with_role("state")

    def end(self, cells, in_progress, states, row):
        """Returns a time at one end of the window, including the time in progress."""
        time = cells[row]
        if not is_number(time):
            return time
        if in_progress and is_number(in_progress[row]):
            return time + in_progress[row]
        return UNKNOWN if states and states[row] == "R" else time

    def of(self, name, row):
        now, base = self.threads.cell(name, row), self.threads.base(name, row)
        if name in self.times:
            progress = self.times[name]
            if row < self.file.living:
                now = self.end(self.threads.now[name], self.threads.now.get(progress), self.threads.now.get(self.state), row)
            if not self.threads.born[row]:
                base = self.end(self.threads.then[name], self.threads.then.get(progress), self.threads.then.get(self.state), row)
        if not is_number(now):
            return now
        return now - base if is_number(base) and now >= base else UNKNOWN

    def blocked_time(self, row):
        times = [self.of(name, row) for name in self.times]
        if not all(map(is_number, times)):
            return next(time for time in times if not is_number(time))
        first, last = self.threads.seen[row]
        return max(0, last - first - sum(times))


def total(cells):
    """Returns the sum of a group; 0 if no cell is meaningful; UNKNOWN if no meaningful cell has a number."""
    meaningful = [cell for cell in cells if cell != MEANINGLESS]
    numbers = [cell for cell in meaningful if is_number(cell)]
    return sum(numbers) if numbers else 0 if not meaningful else UNKNOWN


def add_cells(cells):
    cells = list(cells)
    return UNKNOWN if UNKNOWN in cells else sum(cells)


def is_inside(path, other):
    return other != "" and path != other and path.startswith(other.rstrip("/") + "/")


def build_tree(rows):
    """Returns [(depth, row)] of cgroups: each below its nearest ancestor, siblings by the largest score in their subtree."""
    def below(parent, rest):
        top = [row for row in rest if not any(is_inside(row[0], other[0]) for other in rest)]
        branches = [(row, [other for other in rest if is_inside(other[0], row[0])]) for row in top]
        branches.sort(key=lambda branch: (-max(row[1] for row in [branch[0], *branch[1]]), branch[0][0].encode().replace(b"/", b"\0")))
        return [one for row, inside in branches for one in [(parent, row), *below(parent + 1, inside)]]
    return below(0, rows)


class Screen:
    """The screen of one window, grouped by normalised names of processes, or by another key of threads without normalisation."""

    def __init__(self, file, axis="pcomm"):
        self.file, self.differences = file, Differences(file)
        names = [name or "" for name in file.threads.now[axis]]  # empty for a thread that exited before its name was read
        keys = thread_keys(names) if axis == "pcomm" else {name: name for name in names}
        self.axis, self.keys = axis, keys
        self.groups = collections.defaultdict(list)
        for row in range(file.threads.rows):
            self.groups[keys[names[row]]].append(row)
        leaders = {file.threads.now["tgid"][row]: keys[names[row]] for row in range(file.living)
                   if file.threads.now["tgid"][row] == file.threads.now["tid"][row]}
        self.processes = collections.defaultdict(list)
        for row, tgid in enumerate(file.processes.now["process.tgid"]):
            self.processes[leaders.get(tgid)].append(row)
        self.name_exited_threads()
        groups = {thread["tgid"]: thread[axis] for thread in file.exited["thread"] if thread["tid"] == thread["tgid"]}
        self.exited = collections.defaultdict(list)
        for process in file.exited["process"]:
            name = groups.get(process["process.tgid"], "")
            self.exited[keys.get(name, name)].append(process)
        self.headlines = self.find_headlines()
        self.scale = [100 if shown["shown"] == PERCENT else 1e9 for shown, _ in self.headlines]
        self.floors = [min(shown["floor"], 0.01 * file.memory) if shown["shown"] == LEVEL else shown["floor"] * scale / 1e9
                       for (shown, _), scale in zip(self.headlines, self.scale)]
        self.weights = [self.weight(shown) for shown, _ in self.headlines]

    def name_exited_threads(self):
        """A thread that executed another program and exited belongs to the group of its row, not to that of its name at the opening."""
        threads = self.file.threads
        names = {(threads.now["tid"][row], threads.now["start_time_clock_ticks"][row]): threads.now[self.axis][row] or ""
                 for row in range(self.file.living, threads.rows)}
        for thread in self.file.exited["thread"]:
            thread[self.axis] = names.get((thread["tid"], thread["start_time_clock_ticks"]), thread[self.axis])

    def weight(self, shown):
        """Returns (the capacity of the machine, the maximum of a value that counts); None for a headline that does not affect the order."""
        metric = next((one for one in self.file.registry["metrics"] + self.file.registry["derived"] if one.get("headline") == shown), None)
        if shown.get("by_change"):
            return None
        if shown["shown"] == PERCENT:
            cpus = 100.0 * self.file.of_host("host-cpus")
            return cpus, cpus if metric.get("role") in ("run-time", "wait-time") else min(100.0, cpus)
        if metric["unit"] != "bytes":
            return None
        if shown["shown"] == LEVEL:
            return self.file.memory, self.file.memory
        wall = self.file.of_host("host-wall")
        size = (self.file.of_host("disk-read") + self.file.of_host("disk-write")) / (wall / 1e9)
        busy = min(self.file.of_host("disk-busy") / wall, 1.0)
        return (size / busy, size) if size and busy else None

    def find_headlines(self):
        """Returns [(headline, function that computes the total of a group)] in display order."""
        found = [(BLOCKED, lambda group: total(self.differences.blocked_time(row) for row in self.groups[group]))]
        for metric in self.file.registry["metrics"]:
            if metric.get("headline"):
                found.append((metric["headline"], self.reader(metric["name"])))
        for derived in self.file.registry["derived"]:
            if derived.get("headline"):
                found.append((derived["headline"], self.reader_of_sum(derived["expression"])))
        return sorted(found, key=lambda one: one[0]["order"])

    def reader_of_sum(self, text):
        """Returns the reader of "a + b", or of "a? + max(b?, c?)", where inputs may be missing if at least one is known."""
        terms = re.findall(r"max\([^)]*\)|\S+", text.replace(" + ", " "))
        readers = [[self.reader(name.strip("? ")) for name in term.removeprefix("max(").rstrip(")").split(",")] for term in terms]
        if "?" not in text:
            return lambda group: add_cells(reader(group) for [reader] in readers)
        def read(group):
            known = [[value for reader in term if is_number(value := reader(group))] for term in readers]
            return sum(max(values) for values in known if values) if any(known) else UNKNOWN
        return read

    def reader(self, name):
        if name not in self.file.metrics():
            return lambda group: UNKNOWN
        if self.file.metrics()[name]["entity"] == "process":
            return lambda group: total(self.file.processes.cell(name, row) for row in self.processes[group])
        return lambda group: total(self.differences.of(name, row) for row in self.groups[group])

    def change(self, shown, group):
        name = next(metric["name"] for metric in self.file.registry["metrics"] if metric.get("headline") == shown)
        table = self.file.processes
        at_end = [table.cell(name, row) for row in self.processes[group] if is_number(table.cell(name, row))]
        # Values at the beginning of processes that have a value at the end, or exited.
        then = [table.base(name, row) for row in self.processes[group] if is_number(table.cell(name, row))]
        then += [table.base(name, row) for row in self.processes[group] if not is_number(table.cell(name, row)) and not table.born[row]
                 and is_number(table.base(name, row))]
        then += [process.get(name, UNKNOWN) for process in self.exited[group] if process.get(name, UNKNOWN) is not MEANINGLESS]
        if not then:
            return 0 if self.reader(name)(group) == 0 else UNKNOWN
        then = [0 if cell is MEANINGLESS else cell for cell in then]
        if self.reader(name)(group) is UNKNOWN:
            return UNKNOWN
        return sum(at_end) - sum(then) if all(map(is_number, then)) else UNKNOWN

    def figures(self, group):
        found = []
        for (shown, read), scale in zip(self.headlines, self.scale):
            value = read(group)
            if shown["shown"] == LEVEL:
                found.append((value, self.change(shown, group)))
            else:
                found.append((UNKNOWN if value is UNKNOWN else value * scale / self.file.rates_over, None))
        return found

    def changed_value(self, at, figures):
        """Returns the value that is compared with the headline's floor; 0 if it is unknown."""
        value, change = figures[at]
        return abs((change if self.headlines[at][0]["shown"] == LEVEL else value) or 0)

    def share(self, at, figures):
        """Returns the share of the machine's capacity; for a level that of the value or of its change, whichever is larger."""
        if not self.weights[at]:
            return 0
        whole, most = self.weights[at]
        value, change = figures[at]
        return min(max(abs(value or 0), abs(change or 0)), most) / whole

    def is_own(self, group):
        """Returns whether the group consists of threads of the recording process and its helpers."""
        threads = self.file.threads
        own = {threads.now["tgid"][row] for row in range(self.file.living) if threads.now["tid"][row] in self.file.own}
        return all(threads.now["tgid"][row] in own or threads.cell("parent", row) in own for row in self.groups[group])

    def has_other_threads(self, group, keys):
        """Returns whether the number of threads has changed by at least 20 since the window opened."""
        threads = self.file.threads
        exited = sum(keys.get(thread[self.axis], thread[self.axis]) == group for thread in self.file.exited["thread"])
        born = sum(threads.born[row] for row in self.groups[group])
        ended = sum(row >= self.file.living for row in self.groups[group])
        return abs(born - ended - exited) >= 20

    def rows(self):
        """Returns [(group, score, values)] in order, and counts omitted groups and threads in self.out."""
        figures = {group: self.figures(group) for group in self.groups}
        orders = [at for at, (shown, _) in enumerate(self.headlines) if not shown.get("by_change")]
        found, self.out = [], collections.Counter()
        for group in self.groups:
            is_kernel = all(self.file.threads.cell("kernel_thread", row) for row in self.groups[group])
            if self.is_own(group):
                self.out["own_threads"] += len(self.groups[group])
            elif any(self.changed_value(at, figures[group]) >= self.floors[at] for at in orders) or \
                    not is_kernel and self.has_other_threads(group, self.keys):
                found.append((group, max(self.share(at, figures[group]) for at in orders), figures[group]))
            elif is_kernel:
                self.out["quiet_kernel_threads"] += len(self.groups[group])
            else:
                self.out["quiet_groups"] += 1
        return sorted(found, key=lambda one: (-one[1], one[0].encode()))


class FirstScreen(unittest.TestCase):
    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.path = os.path.join(scratch.name, "run.ctprof.zst")

    def record(self, *cgroups):
        """Records while short-lived programs run in each of the cgroups, and a program starts and exits in the window."""
        with contextlib.ExitStack() as storms:
            for cgroup in cgroups or [None]:
                storm = subprocess.Popen(["sh", "-c", "while :; do /bin/true; done"], preexec_fn=lambda at=cgroup: at and join(at))
                storms.callback(lambda storm=storm: (storm.kill(), storm.wait()))
            finished = run("-o", self.path, "--", "sh", "-c", "timeout .5 dd if=/dev/zero of=/dev/null status=none; sleep .5")
        self.assertEqual(finished.returncode, 0, finished.stderr)

    def screen(self, *words):
        return json.loads(harness.run("show", self.path, "--format", "json", *words).stdout)["screen"]

    @unittest.skipUnless(may_make_cgroups(), "needs root, and a cgroup v2 hierarchy in which cgroups can be created")
    def test_tree_of_cgroups(self):
        with cgroup() as top:
            places = [os.path.join(top, *names) for names in ([b"a"], [b"a", b"b"], [b"a-c"])]
            for place in places:
                os.mkdir(place)
            self.record(*places)
        report = self.screen("--group-by", "cgroup", "--no-cg-normalize")
        screen = Screen(File(self.path), "cgroup")
        rows = build_tree(screen.rows())
        self.assertLessEqual({0, 1, 2}, {depth for depth, _ in rows})
        self.assertEqual([(row["depth"], row["group"], row["score"]) for row in report["rows"]], [(depth, *row[:2]) for depth, row in rows])

    def test_screen(self):
        self.record()
        report = self.screen()
        screen = Screen(File(self.path))
        rows = screen.rows()
        self.assertEqual([one["label"] for one in report["headlines"]], [shown["label"] for shown, _ in screen.headlines])
        self.assertEqual([row["group"] for row in report["rows"]], [group for group, _, _ in rows])
        self.assertIn("true", [group for group, _, _ in rows])
        for row, (group, score, figures) in zip(report["rows"], rows):
            self.assertEqual(row["score"], score, f"score of {group}")
            for ((shown, _), own, (figure,)) in zip(screen.headlines, figures, row["figures"]):
                self.assertEqual(figure["value"], own[0], f"{shown['label']} of {group}")
                self.assertEqual(figure["change"], own[1], f"change of {shown['label']} of {group}")
            threads = {"living": sum(at < screen.file.living for at in screen.groups[group]),
                       "born": sum(screen.file.threads.born[at] for at in screen.groups[group]),
                       "ended": sum(at >= screen.file.living for at in screen.groups[group])}
            self.assertEqual(row["threads"], [threads], group)
            self.assertEqual(row["depth"], 0)
            self.assertEqual(row["new"], threads["born"] == len(screen.groups[group]), group)
            self.assertEqual(row["gone"], threads["living"] == 0, group)
        found = {row["group"]: (row["new"], row["gone"]) for row in report["rows"]}
        self.assertEqual((found["dd"], found["sh"]), ((True, True), (False, False)))
        left = report["left_out"]
        self.assertEqual({name: left[name] for name in ("own_threads", "quiet_kernel_threads", "quiet_groups")},
                         {name: screen.out[name] for name in ("own_threads", "quiet_kernel_threads", "quiet_groups")})


if __name__ == "__main__":
    unittest.main()
