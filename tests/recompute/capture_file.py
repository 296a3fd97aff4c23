"""Reads columns files (format 2) into tables of plain Python values, following core/file/README.md and docs/file-formats.md.

    captures = load(path)                        # a list: one Capture for each block of the file
    captures[0].tables["thread"].now["run_time_ns"][row]

A cell is a number, a text, a set of CPUs, a map, or a Gap. The reader shares no code with ctprof. It stores the readings of both ends
of a window and computes nothing from them (see accounts.py).
"""

import json
import subprocess

NO_LIMIT = 2**64 - 1


class Gap:
    """The reason why a cell has no value. Gaps with the same name are the same object."""

    known = {}

    def __new__(cls, name):
        if name not in cls.known:
            cls.known[name] = super().__new__(cls)
            cls.known[name].name = name
        return cls.known[name]

    def __repr__(self):
        return f"Gap({self.name})"


NOT_APPLICABLE, NO_BASE, WENT_BACKWARDS, THREAD_GONE = map(Gap, ("NotApplicable", "NoBase", "WentBackwards", "ThreadGone"))


def has_value(cell):
    return not isinstance(cell, Gap)


class Table:
    """All rows of one entity.

    now[name][row] is the reading at the end, or at exit. then[name][row] is the reading at the opening; it is missing for metrics that
    were not read at the opening. `moments[row]` is the pair (time of opening reading, time of last reading) in ns after the opening; for
    a snapshot both are the time of its only reading. `opening_only_rows` are rows that only the opening has: a dictionary of cells each.
    """

    def __init__(self, metrics):
        self.metrics = metrics
        self.rows = 0
        self.now, self.then = {}, {}
        self.born, self.ended, self.moments = [], [], []
        self.opening_only_rows = []
        # False for files of older versions, which lack the opening rows of exited processes.
        self.opening_only_is_complete = True

    def reading(self, name, row):
        return self.now[name][row] if name in self.now else self.missing(name)

    def opening(self, name, row):
        return self.then[name][row] if name in self.then else NO_BASE

    def missing(self, name):
        """Returns the gap of a metric without a column."""
        return Gap(self.metrics[name].get("gap_name") or "NotApplicable")

    def sort_key(self, entity, row):
        """Returns the sort key of the rows of a table."""
        names = {"thread": ("tgid", "tid", "start_time_clock_ticks"), "process": ("process.tgid",), "cgroup": ("cgroup.path",), "host": ()}[entity]
        return tuple(str(cell) if isinstance(cell, Gap) else cell for cell in (self.reading(name, row) for name in names))

    def append(self, line, based, gap_names, ended):
        columns, count = line["columns"], max(map(len, line["columns"].values()))
        reasons = expand_gaps(line["gaps"], gap_names)
        self._extend(self.now, columns, reasons, count)
        if based is not None:
            base_reasons = expand_gaps(line.get("base_gaps", []), gap_names)
            bases = dict(line.get("bases", {}))
            for name in based - bases.keys():  # a base column that equals the final column in all rows is omitted
                if name in base_reasons:
                    bases[name] = [None] * count
                else:
                    self._copy_end(name, count)
            self._extend(self.then, bases, base_reasons, count)
        born = set(line.get("born", ()))
        self.born += [line["first_row"] + row in born for row in range(count)]
        self.ended += [ended] * count
        self.moments += line.get("seen") or [(at, at) for at in line.get("read_at", [None] * count)]
        self.rows += count

    def _copy_end(self, name, count):
        cells = self.then.setdefault(name, [self.missing(name)] * self.rows)
        cells += (self.now[name] if name in self.now else [self.missing(name)] * (self.rows + count))[self.rows:]

    def _extend(self, into, columns, reasons, count):
        for name in columns.keys() | reasons.keys():
            if name not in self.metrics:
                continue
            cells = into.setdefault(name, [self.missing(name)] * self.rows)
            convert, gaps = CELL_CONVERTERS.get(self.metrics[name]["storage"], lambda cell: cell), iter(reasons.get(name, ()))
            cells += [convert(cell) if cell is not None else next(gaps, self.missing(name)) for cell in columns.get(name) or [None] * count]
            assert next(gaps, None) is None, f"{name} has more gaps than cells without a value"
        for name, cells in into.items():
            cells += [self.missing(name)] * (self.rows + count - len(cells))


def parse_cpus(text):
    """Parses a CPU list such as 0-3,8."""
    cpus = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        cpus += range(int(first), int(last or first) + 1)
    return tuple(cpus)


CELL_CONVERTERS = {"bitset": lambda cell: parse_cpus(cell) if isinstance(cell, str) else tuple(cell),
           "map": lambda cell: dict(cell)}


def expand_gaps(patterns, names):
    """Returns {column: gaps of its cells without a value, in order}; a pattern consists of pairs of a code and a number of cells."""
    found = {}
    for pattern in patterns:
        runs = pattern["runs"]
        gaps = [Gap(names[code]) for code, cells in zip(runs[::2], runs[1::2]) for _ in range(cells)]
        found |= dict.fromkeys(pattern["columns"], gaps)
    return found


class Capture:
    """One block of a file: a snapshot, or a window if `window` is not None."""

    def __init__(self, lines):
        of_kind = lambda kind: [line for line in lines if line["kind"] == kind]
        self.header = lines[0]
        self.about = self.header["ctprof"]
        self.summary = next(iter(of_kind("summary")), {}).get("ctprof", {})
        self.window = next(iter(of_kind("window")), None)
        registry, names = self.header["registry"], self.header["gap_names"]
        self.metrics = {metric["name"]: dict(metric, gap_name=names[metric["gap"]] if metric.get("gap") else None)
                        for metric in registry["metrics"]}
        # Expensive metrics that were not read: they have neither a column nor a definition.
        self.left_out = set(self.about.get("left_out", ()))
        self.derived = {metric["name"]: metric for metric in registry["derived"]}
        based = {base["entity"]: set(base["columns"]) for base in self.window["bases"]} if self.window else {}
        self.based = {name for columns in based.values() for name in columns}
        self.tables = {entity: Table(self.metrics) for entity in ("thread", "process", "cgroup", "host")}
        for line in of_kind("table") + [line for line in of_kind("exited") if line["entity"] == "thread"]:
            entity = line["entity"]
            columns = based.get(entity, set()) if self.window else None
            self.tables[entity].append(line, columns, names, ended=line["kind"] == "exited")
        self.read_opening_only(lines, names)

    def read_opening_only(self, lines, names):
        """Reads the rows that only the opening has: lines of kind `opening`, if the window has the member `opening_only`."""
        if not self.window:
            return
        for entity, table in self.tables.items():
            table.opening_only_is_complete = "opening_only" in self.window
            cells = Table(self.metrics)
            for line in lines:
                if line["kind"] == "opening" and line["entity"] == entity:
                    cells.append(line, None, names, ended=True)
            table.opening_only_rows += [{name: column[row] for name, column in cells.now.items()} for row in range(cells.rows)]
        threads = self.tables["thread"]
        exited = {(threads.now["tid"][row], threads.now["start_time_clock_ticks"][row]) for row in range(threads.rows) if threads.ended[row]}
        threads.opening_only_rows = [cells for cells in threads.opening_only_rows if (cells["tid"], cells["start_time_clock_ticks"]) not in exited]

    @property
    def is_window(self):
        return self.window is not None

    @property
    def start(self):
        """Returns the start of the capture, at which the end of a window is read, in ns of the boot's monotonic clock."""
        return self.about["start"]["monotonic_ns"]

    @property
    def opening_time(self):
        return self.window["opened"]["monotonic_ns"] if self.window else self.start

    def with_role(self, role):
        return next((name for name, metric in self.metrics.items() if metric.get("role") == role), None)


def load(path):
    text = subprocess.run(["zstd", "-dcq", "--", path], check=True, capture_output=True).stdout
    blocks = []
    for line in map(json.loads, text.splitlines()):
        if line["kind"] == "header":
            blocks.append([])
        blocks[-1].append(line)
    return [Capture(lines) for lines in blocks]
