"""Loads a .ctprof.zst into plain Python: rows of named cells, where each cell is a value or a Gap, and texts are the original bytes.

Interprets the file by its own `registry`, `gaps` and `raw`, as documented by core/file, but without code of core/file.

    load(path).threads[tgid, tid]["run_time_ns"]      -> 123, or Gap("Denied")
    load(path).processes[tgid], .cgroups[path], .host -> the same for other entities
    load(path).faults()                               -> the inconsistencies of a newly captured file
"""

import json
import subprocess
from collections import Counter
from dataclasses import dataclass

GAPS = ["None", "Untouched", "NotApplicable", "ThreadGone", "Denied", "Unsupported", "SwitchedOff", "PredatesSwitch", "Malformed", "Busy",
        "SourceFailed", "NotInFile"]
NEVER_CAPTURED = {"Untouched", "NotInFile"}

# A code in `gaps` in addition to those of the gaps: "no limit". Its JSON is null, and its value is the largest number.
UNBOUNDED = 255
NO_BOUND = 2**64 - 1

ABSENT = object()  # the row has no such key
NULL_OBJECT = object()  # an object that would hold the key is null

PYTHON_TYPES = {"u64": int, "i64": int, "f64": float, "bool": bool, "string": bytes, "bitset": list, "map": dict, "array": list}


@dataclass(frozen=True)
class Gap:
    name: str

    def __repr__(self):
        return f"Gap({self.name})"


def expand(runs):
    """Expands [code, count, code, count ...] to one code per row."""
    return [code for code, count in zip(runs[::2], runs[1::2]) for _ in range(count)]


def value_at(row, keys):
    """Returns the value at nested keys, or ABSENT or NULL_OBJECT."""
    for key in keys:
        if row is None:
            return NULL_OBJECT
        if not isinstance(row, dict) or key not in row:
            return ABSENT
        row = row[key]
    return row


class File:
    def __init__(self, document):
        self.document = document
        self.metrics = {metric["name"]: metric for metric in document["registry"]["metrics"]}
        self.json_rows = self._json_rows()
        self.codes = self._codes()
        self.raw = self._raw()
        self.threads = dict(zip(((row["tgid"], row["tid"]) for row in document["threads"]), self._table("thread")))
        self.processes = dict(zip(self._tgids(), self._table("process")))
        self.cgroups = dict(zip(document["cgroup_stats"], self._table("cgroup")))
        self.host = self._table("host")[0]

    def _tgids(self):
        return list(dict.fromkeys(row["tgid"] for row in self.document["threads"]))

    def _json_rows(self):
        """Returns the JSON of each row of each table. A process is stored in the row of its leader, or in its first row if there is no leader."""
        rows = {row["tgid"]: row for row in reversed(self.document["threads"])}
        rows |= {row["tgid"]: row for row in self.document["threads"] if row["tid"] == row["tgid"]}
        return {"thread": self.document["threads"], "process": [rows[tgid] for tgid in self._tgids()],
                "cgroup": list(self.document["cgroup_stats"].values()), "host": [self.document]}

    def _codes(self):
        """Returns the codes of each column that has gaps, by name."""
        return {column: expand(pattern["runs"]) for patterns in self.document["gaps"].values() for pattern in patterns
                for column in pattern["columns"]}

    def _raw(self):
        """Returns a map (column, row) -> bytes for texts that are not UTF-8."""
        found = {}
        for columns in self.document["raw"].values():
            for column, texts in columns.items():
                for text in texts:
                    for first, count in zip(text["rows"][::2], text["rows"][1::2]):
                        found |= {(column, row): bytes.fromhex(text["hex"]) for row in range(first, first + count)}
        return found

    def metrics_in_file(self, entity):
        """Returns the metrics of the entity that have values in the file, with their keys in the JSON."""
        for metric in self.metrics.values():
            path = metric.get("file_path", "none")
            if metric["entity"] == entity and path != "none":
                yield metric, path.replace("threads[].", "").replace("cgroup_stats[].", "").split(".")

    def _table(self, entity):
        placed = list(self.metrics_in_file(entity))
        if entity == "cgroup":  # the path of a cgroup is a key in the file, not a cell
            placed = [(metric, keys) for metric, keys in placed if not keys[0].startswith("cgroup_stats[]")]
        return [{metric["name"]: self._cell(metric, index, value_at(row, keys)) for metric, keys in placed}
                for index, row in enumerate(self.json_rows[entity])]

    def code(self, name, index):
        return self.codes[name][index] if name in self.codes else 0

    def _cell(self, metric, index, found):
        code = self.code(metric["name"], index)
        if code == UNBOUNDED:
            return NO_BOUND
        if code != 0:
            return Gap(GAPS[code] if code < len(GAPS) else f"number {code}")
        if metric["storage"] == "string" and isinstance(found, str):
            return self.raw.get((metric["name"], index), found.encode())
        if metric.get("file_unit") == "0-or-1" and found in (0, 1):
            return bool(found)
        return found

    def cgroups_by_path(self):
        """Returns the rows by the original paths, as bytes."""
        names = [self.raw.get(("cgroup.path", index), name.encode()) for index, name in enumerate(self.cgroups)]
        return dict(zip(names, self.cgroups.values()))

    def columns_of(self, entity, plugin):
        """Returns the names of the columns that a plugin filled."""
        return {name for name, metric in self.metrics.items() if metric["entity"] == entity and metric.get("filled_by") == plugin}

    # ---- faults: values + gaps = rows, no cell is left over, and each cell agrees with its code -----------------------

    def faults(self):
        return [*self._gap_faults(), *self._cell_faults(), *self._raw_faults(), *self._mark_faults(), *self._tally_faults(),
                *self._read_at_faults()]

    def _gap_faults(self):
        named = Counter(column for patterns in self.document["gaps"].values() for pattern in patterns for column in pattern["columns"])
        for column, times in named.items():
            if column not in self.metrics or times > 1:
                yield f"gaps: {column} is unknown, or there {times} times"
        for name, codes in self.codes.items():
            rows = len(self.json_rows[self.metrics[name]["entity"]])
            if len(codes) != rows:
                yield f"gaps: {name} has {len(codes)} cells, but there are {rows} rows"
            for code in set(codes):
                if code != UNBOUNDED and (code >= len(GAPS) or GAPS[code] in NEVER_CAPTURED):
                    yield f"gaps: {name} has {codes.count(code)} cells of code {code}"

    def _cell_faults(self):
        tables = {"thread": list(self.threads.values()), "process": list(self.processes.values()),
                  "cgroup": list(self.cgroups.values()), "host": [self.host]}
        for entity, rows in tables.items():
            for metric, keys in self.metrics_in_file(entity):
                for index, row in enumerate(rows):
                    if metric["name"] in row:
                        why = self._cell_fault(metric, index, row[metric["name"]], value_at(self.json_rows[entity][index], keys))
                        if why:
                            yield f"{entity} row {index}: {metric['name']} {why}"

    def _cell_fault(self, metric, index, cell, found):
        if self.code(metric["name"], index) == 0:
            wanted = PYTHON_TYPES[metric["storage"]]
            # JSON writes a number in its shortest form: 0 represents 0.0.
            is_whole = wanted is float and type(cell) is int
            return None if type(cell) is wanted or is_whole else f"is {cell!r}, which is no {metric['storage']}"
        absent = metric.get("file_absent", "omit")
        expected_json = ABSENT if absent == "omit" else json.loads(absent)
        return None if found in (expected_json, NULL_OBJECT) else f"has no value, but contains {found!r}, not {absent}"

    def _raw_faults(self):
        for (name, index), text in self.raw.items():
            shown = self._text_in_file(name, index)
            if shown != text.decode(errors="replace"):
                yield f"raw: {name} of row {index} is {text!r}, but the row shows {shown!r}"
            if is_utf8(text):
                yield f"raw: {name} of row {index} is {text!r}, which needs no raw"

    def _text_in_file(self, name, index):
        """Returns the text in the file: a key for the path of a cgroup, otherwise a value in the row."""
        entity = self.metrics[name]["entity"]
        keys = self.metrics[name]["file_path"].split(".")[1:]
        return value_at(self.json_rows[entity][index], keys) if keys else list(self.document["cgroup_stats"])[index]

    def _mark_faults(self):
        """A mark must be true exactly where a metric with this mark has a value."""
        marks = {metric["mark"] for metric in self.metrics.values() if metric.get("mark")}
        for mark in marks:
            names = [name for name, metric in self.metrics.items() if metric.get("mark") == mark]
            for index, row in enumerate(self.document["threads"]):
                if row[mark] != any(self.code(name, index) == 0 for name in names):
                    yield f"thread row {index}: {mark} is {row[mark]}"

    def _tally_faults(self):
        """The gaps that each source counts must equal the gaps in its columns."""
        for source in self.document["ctprof"]["sources"]:
            if "unseen_rows" in source:  # the source filled gaps of the lister in the lister's columns
                continue
            names = [name for name, metric in self.metrics.items()
                     if (metric.get("filled_by"), metric.get("filled_from")) == (source["plugin"], source["source"])]
            lacking = Counter(GAPS[code] for name in names for code in self.codes.get(name, ()) if 0 < code < len(GAPS))
            if lacking != Counter(source["gaps"]):
                yield f"source {source['plugin']}/{source['source']} reports {source['gaps']}, but its columns have {dict(lacking)}"

    def _read_at_faults(self):
        count, rows = len(self.document["read_at"]), len(self.document["threads"])
        if count != rows:
            yield f"read_at has {count} entries for {rows} threads"


def is_utf8(text):
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def load(path):
    text = subprocess.run(["zstd", "-dcq", "--", path], capture_output=True, check=True).stdout
    return File(json.loads(text))
