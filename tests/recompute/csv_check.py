"""Checks the CSV of `show` and `compare`: one line for each group and metric, and for maps one for each key."""

from fractions import Fraction

from figures import UNKNOWN
from rules import as_number, is_text
from sides import share, subtract
from tally import is_number

PARTS_OF_GROUP = ("cgroup", "pcomm", "comm")
KINDS = {"value": "csv value", "change": "csv change", "baseline": "csv value", "candidate": "csv value", "delta": "csv delta", "pct": "csv percent"}


def group_of(line):
    if "group" in line:
        return line["group"]
    group = tuple(line[part] for part in PARTS_OF_GROUP)
    return group[0] if line["metric"].startswith(("host.", "cgroup.")) else group


def number_in(text):
    return Fraction(text) if text else None


def as_text(value):
    """Formats a value that is no number like the column `text`; None if only a part of the text is checked."""
    if isinstance(value, dict) and set(value) == {"min", "max"}:
        return str(value["min"]) if value["min"] == value["max"] else f"{value['min']}..{value['max']}"
    if isinstance(value, dict) and "total" in value:
        return value["value"] if isinstance(value["value"], str) else str(value["value"]).lower()
    return value if isinstance(value, str) else None


def remove_functions(lines):
    """Removes functions and stacks, which tests/record/stacks_test.py recomputes."""
    return (line for line in lines if not (line["metric"].endswith("_stacks") and line["key"]))


class CsvCheck:
    def __init__(self, tally, command):
        self.tally, self.command = tally, command

    def cell(self, where, column, line, recomputed, scale=0):
        """Checks a column of numbers, which is empty if the value is no number."""
        recomputed = recomputed if is_number(recomputed) else None
        self.tally.check(KINDS[column], (*where, column), number_in(line[column]), recomputed, scale)

    def key_of(self, recomputed, line):
        return recomputed.get(line["key"]) if isinstance(recomputed, dict) and line["key"] else recomputed

    def text(self, where, column, line, recomputed):
        expected = as_text(recomputed)
        if expected is not None:
            found = line[column]
            right = found == expected or isinstance(recomputed, dict) and "total" in recomputed and found.startswith(expected)
            self.tally.judge("csv text", (*where, column), right, found, expected)

    def show(self, lines, side):
        for line in remove_functions(lines):
            group, metric = group_of(line), line["metric"]
            where = (self.command, group, metric, line["key"]) if line["key"] else (self.command, group, metric)
            if not side.has(group, metric):
                self.tally.judge("csv line without readings has no value", where, line["value"] in ("", "0"), line["value"], None)
                continue
            value = self.key_of(side.value(group, metric), line)
            self.cell(where, "value", line, value)
            self.text(where, "text", line, value)
            if "change" in line:
                change = side.change(group, metric)
                if change is UNKNOWN:
                    self.tally.check("csv change unknown in this file", where, line["change"], "")
                else:
                    self.cell(where, "change", line, self.key_of(change, line), abs(as_number(value) or 0))
            self.tally.check("csv threads", where, number_in(line["threads"]), side.threads(group))
            for column, recomputed in zip(("values", "rows"), side.coverage(group, metric)):
                self.tally.check("csv coverage", (*where, column), number_in(line[column]), recomputed)

    def compare(self, lines, sides):
        before, after = sides
        for line in remove_functions(lines):
            group, metric = group_of(line), line["metric"]
            where = (self.command, group, metric, line["key"]) if line["key"] else (self.command, group, metric)
            if not before.has(group, metric) and not after.has(group, metric):
                right = all(line[name] in ("", "0") for name in ("baseline", "candidate"))
                self.tally.judge("csv line without readings has no value", where, right, line["candidate"], None)
                continue
            present = {"both": (before, after), "baseline": (before,), "candidate": (after,)}[line["side"]]
            for side, name in ((before, "baseline"), (after, "candidate")):
                if side in present and side.has(group, metric):
                    value = self.key_of(side.value(group, metric), line)
                    self.cell(where, name, line, value)
                    self.text(where, f"text_{name}", line, value)
                    self.tally.check("csv threads", (*where, name), number_in(line[f"threads_{name}"]), side.threads(group))
                    for column, recomputed in zip(("values", "rows"), side.coverage(group, metric)):
                        self.tally.check("csv coverage", (*where, name, column), number_in(line[f"{column}_{name}"]), recomputed)
                else:
                    self.cell(where, name, line, None)
            if line["side"] == "both" and before.has(group, metric) and after.has(group, metric):
                self.change(where, line, before, after, group, metric)

    def change(self, where, line, before, after, group, metric):
        first, last = (self.key_of(side.value(group, metric), line) for side in (before, after))
        if is_text(next(figure for figure in after.figures(group, metric) if figure).rule):
            return
        if line["key"]:
            first, last = first or 0, last or 0
        delta = subtract(first, last)
        scale = max((abs(number) for number in map(as_number, (first, last)) if number is not None), default=0)
        self.cell(where, "delta", line, delta, scale)
        if not line["key"]:
            recomputed = share(first, delta, line["unit"])
            self.cell(where, "pct", line, recomputed, scale / abs(as_number(first)) if recomputed is not None else 0)
