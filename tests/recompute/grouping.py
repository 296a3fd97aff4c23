"""Groups of rows by the key of --group-by. tests/parity/patterns.py computes the patterns of names, over all compared files.

    grouping = Grouping("pcomm", spans)
    grouping.rows(span)["thread"]["sh"]          # the numbers of its thread rows; for processes and cgroups too
"""

import collections
import os
import re
import sys

from capture_file import has_value

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "parity"))
import patterns  # noqa: E402

AXES = ("pcomm", "cgroup", "comm", "comm-exact", "all", "pid", "process.pcomm")
COLUMNS = {"pcomm": ("pcomm",), "cgroup": ("cgroup",), "comm": ("comm",), "comm-exact": ("comm",), "all": ("cgroup", "pcomm", "comm"),
           "pid": ("pcomm",), "process.pcomm": ("process.pcomm",)}
HOST = "host"


def text_of(cell):
    return cell if has_value(cell) else ""


def matches_glob(glob, path):
    """Returns whether the path matches: * matches within one component, ** across components."""
    parts = (".*" if part == "**" else "[^/]*" if part == "*" else "[^/]" if part == "?" else re.escape(part)
             for part in re.findall(r"\*\*|\*|\?|[^*?]+", glob))
    return re.fullmatch("".join(parts), path) is not None


class Grouping:
    def __init__(self, axis, spans, thread_names_as_they_are=False, cgroups_as_they_are=False, flatten=()):
        self.axis, self.flatten = axis, flatten
        self.literal_thread_names = thread_names_as_they_are
        self.keys = {}
        for column in COLUMNS[axis]:
            names = {name for span in spans for name in self.names_of_column(span, column)}
            if column == "cgroup":
                known = {name: name for name in names} if cgroups_as_they_are else patterns.cgroup_keys(names)
            else:
                exact = self.literal_thread_names or axis in ("comm-exact", "pid", "process.pcomm")
                known = {name: name for name in names} if exact else patterns.thread_keys(names)
            self.keys |= {(column, name): key for name, key in known.items()}

    def names_of_column(self, span, column):
        threads = span.tables["thread"]
        if column == "process.pcomm":
            return [*self.names_of_processes(span).values(), *(text_of(cells[column]) for cells in span.tables["process"].opening_only_rows)]
        names = {self.apply_globs(column, text_of(threads.reading(column, row))) for row in range(threads.rows)}
        if column == "cgroup" and self.axis == "cgroup":
            cgroups = span.tables["cgroup"]
            names |= {self.apply_globs(column, cgroups.now["cgroup.path"][row]) for row in range(cgroups.rows)}
        return names

    def names_of_processes(self, span):
        table = span.tables["process"]
        return {table.now["process.tgid"][row]: text_of(table.reading("process.pcomm", row)) for row in range(table.rows)} | {None: ""}

    def apply_globs(self, column, name):
        if column == "cgroup":
            for glob in self.flatten:
                if matches_glob(glob, name):
                    return glob
        return name

    def key(self, column, name):
        name = self.apply_globs(column, name)
        return self.keys.get((column, name), name)

    def group_of_thread(self, span, cells, names):
        """Returns the group of a thread; `cells` reads its identity."""
        if self.axis == "process.pcomm":
            return self.key("process.pcomm", names.get(cells("tgid"), ""))
        if self.axis == "pid":
            return f"{text_of(cells('pcomm'))}[{cells('tgid')}]"
        group = tuple(self.key(column, text_of(cells(column))) for column in COLUMNS[self.axis])
        return group if self.axis == "all" else group[0]

    def rows(self, span):
        """Returns {entity: {group: row numbers}}, and "opening_only": {group: opening values of processes or threads without a row}."""
        threads, processes = span.tables["thread"], span.tables["process"]
        names = self.names_of_processes(span)
        found = {entity: collections.defaultdict(list) for entity in ("thread", "process", "cgroup", "host")}
        found["opening_only"] = {"thread": collections.defaultdict(list), "process": collections.defaultdict(list), "cgroup": {}, "host": {}}
        leaders, name_of = {}, {}
        for row in range(threads.rows):
            group = self.group_of_thread(span, lambda name, row=row: threads.reading(name, row), names)
            found["thread"][group].append(row)
            tgid, tid = threads.now["tgid"][row], threads.now["tid"][row]
            if tid == tgid or tgid not in leaders:
                leaders[tgid], name_of[tgid] = group, text_of(threads.reading("pcomm", row))
        for cells in threads.opening_only_rows:
            group = self.group_of_thread(span, lambda name, cells=cells: cells[name], names)
            found["opening_only"]["thread"][group].append(cells)
            if cells["tid"] == cells["tgid"] or cells["tgid"] not in leaders:
                leaders[cells["tgid"]], name_of[cells["tgid"]] = group, text_of(cells["pcomm"])
        for row in range(processes.rows):
            tgid = processes.now["process.tgid"][row]
            found["process"][self.group_of_process(tgid, leaders, name_of)].append(row)
        for cells in processes.opening_only_rows:
            group = self.key("process.pcomm", text_of(cells["process.pcomm"])) if self.axis == "process.pcomm" else \
                self.group_of_process(cells["process.tgid"], leaders, name_of)
            found["opening_only"]["process"][group].append(cells)
        if self.axis == "cgroup":
            cgroups = span.tables["cgroup"]
            for row in range(cgroups.rows):
                found["cgroup"][self.key("cgroup", cgroups.now["cgroup.path"][row])].append(row)
        found["host"][HOST] = list(range(span.tables["host"].rows))
        return found

    def group_of_process(self, tgid, leaders, name_of):
        """Returns the group of a process: that of its leader; under --no-thread-normalize each process is a group."""
        if self.literal_thread_names and self.axis in ("pcomm", "comm", "comm-exact", "cgroup"):
            return f"{name_of.get(tgid, '')}[{tgid}]"
        return leaders.get(tgid)
