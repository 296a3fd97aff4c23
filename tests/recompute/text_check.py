"""Checks the printed text: cells of `--details` and of the first screen, within their printed precision."""

import re
from fractions import Fraction

from figures import UNKNOWN
from significance import pairs_of
from printed import is_within, parse_number
from rules import as_number, is_text
from screen import LEVEL, PERCENT, Screen, headlines

# A line of --details has these columns, separated by two blanks.
COLUMNS = "group,threads,metric,value"
GAP = re.compile(r" {2,}")
# Printed for a group without a name.
NO_NAME = "(no name)"


def rows_of_sections(text):
    """Yields the rows of sections: a line with ## and the name, the column names, and rows; sentences and settings may follow."""
    in_section = False
    for line in text.splitlines():
        parts = GAP.split(line.strip())
        if line.startswith("## "):
            in_section = True
        elif not line or parts[0] == "setting":
            in_section = False
        elif in_section and len(parts) > 1 and parts[-2:] != ["metric", "value"]:
            yield line, parts


class DetailsCheck:
    """Checks show --details --columns group,threads,metric,value."""

    def __init__(self, tally, command):
        self.tally, self.command = tally, command

    def show(self, text, side, units):
        for line, parts in rows_of_sections(text):
            if not 3 <= len(parts) <= 4:  # the host has no thread count
                self.tally.judge("printed row", (self.command,), False, line, "group, threads, metric and value")
                continue
            group, metric, value = "" if parts[0] == NO_NAME else parts[0], parts[-2], parts[-1]
            group = tuple(group.split(" > ")) if group.count(" > ") == 2 else group
            name, _, key = metric.partition("[")
            where = (self.command, group, metric)
            if name not in units or not side.has(group, name):
                self.tally.judge("printed row is expected", where, False, value, None)
                continue
            figure = next(figure for figure in side.figures(group, name) if figure)
            if is_text(figure.rule) or figure.rule.startswith("Range"):
                continue
            self.cell(where, value, side, group, name, key.rstrip("]").strip('"'), units[name])

    def cell(self, where, text, side, group, name, key, unit):
        recomputed, change = side.value(group, name), side.change(group, name)
        if key:
            recomputed = recomputed.get(key) if isinstance(recomputed, dict) else None
            change = change.get(key) if isinstance(change, dict) else None
        first, _, rest = text.partition(" (")
        per_second = first.endswith("/s")
        found = parse_number(first, unit, per_second)
        recomputed = as_number(recomputed)
        if found is None or recomputed is None:
            self.tally.judge("printed value", where, (first in ("-", "max")) == (recomputed is None or recomputed >= 2**63), first, recomputed)
            return
        self.tally.judge("printed value", where, is_within(recomputed, found), first, recomputed)
        if rest and rest.startswith(("+", "-")) and change is not UNKNOWN and change is not None:
            found = parse_number(rest.rstrip(")"), unit)
            self.tally.judge("printed change", where, found is not None and is_within(change, found), rest, change)
        elif rest and rest.startswith(("+", "-")):
            self.tally.judge("printed change", where, False, rest, None)


class ScreenTextCheck:
    """Checks the first screen as text. From `report`, the same screen in JSON, it uses only the order of the groups."""

    def __init__(self, tally, command):
        self.tally, self.command = tally, command

    def check(self, text, report, sides):
        screen = Screen(sides)
        groups = [tuple(row["group"]) if isinstance(row["group"], list) else row["group"] for row in report["screen"]["rows"]]
        columns = [column for column in headlines(sides[0].runs[0].span)
                   if any(screen.figure(group, column, number)[0] is not None for group in groups for number in range(len(sides)))]
        labels = [column.label for column in columns]
        lines = text.splitlines()
        start = next((at for at, line in enumerate(lines) if GAP.split(line.strip())[-len(labels):] == labels), None)
        if start is None:
            self.tally.judge("screen columns", (self.command,), False, lines[:6], labels)
            return
        tested_rows = pairs_of(report) if len(sides) == 2 else {}
        for line, row in zip(lines[start + 1:], report["screen"]["rows"]):
            group = tuple(row["group"]) if isinstance(row["group"], list) else row["group"]
            cells = GAP.split(line.strip())
            if len(cells) < len(labels) + (2 if group else 1):
                self.tally.judge("printed screen row", (self.command, group), False, line, "a cell for each column")
                continue
            for column, text_of_cell in zip(columns, cells[-len(labels):]):
                recomputed = [screen.figure(group, column, number) for number in range(len(sides))]
                threads = [screen.threads(group, number) for number in range(len(sides))]
                pair = tested_rows.get((group, column.metric))
                if pair:
                    scale = (1e-4 if column.unit == "us" else 1e-7) if column.shown == PERCENT else 1
                    recomputed = [(Fraction(figure) * Fraction(scale), None) for figure in pair.sides()[:2]]
                if column.by_change and (not pair or len({one["living"] + one["ended"] for one in threads}) == 1):
                    recomputed = [per_thread(figure, of_side) for figure, of_side in zip(recomputed, threads)]
                mark = "*" if len(sides) == 1 and row["score"] and row["decided_by"] == column.label else ""
                where = (self.command, group, column.label)
                self.tally.check("mark of the order", where, text_of_cell.endswith("*"), bool(mark))
                self.cell(where, text_of_cell.removesuffix("*"), column, recomputed)

    def cell(self, where, text, column, recomputed):
        unit = "bytes" if column.metric.endswith("bytes") else "count"
        numbers, _, rest = text.partition(" ")
        parts = re.split(r"[→~↑↓]", numbers)
        if len(recomputed) > 1:
            parts = parts if len(parts) == len(recomputed) else parts * len(recomputed)
        suffix = re.sub(r"^[-+\d.]*", "", parts[-1])
        for part, (value, _) in zip(parts, recomputed):
            with_suffix = part + suffix if re.fullmatch(r"[-+\d.]+", part) and part != "0" else part
            found = parse_number(with_suffix, unit)
            if value is None or (column.shown == LEVEL and part == "-"):  # a level without processes is 0, and is not printed
                self.tally.judge("printed screen value", where, found is None and not value, part, value)
                continue
            self.tally.judge("printed screen value", where, found is not None and (is_within(value, found) or is_small(value, part)), text, value)
        if column.shown == LEVEL and len(recomputed) == 1:
            self.change(where, rest, *recomputed[0])

    def change(self, where, text, value, change):
        if change is UNKNOWN:
            self.tally.judge("printed screen change unknown in this file", where, not text, text, None)
        elif text == "new":
            self.tally.judge("printed screen change", where, change == value, text, change)
        elif text:
            found = parse_number(text, "bytes")
            self.tally.judge("printed screen change", where, found is not None and change is not None and is_within(change, found), text, change)
        else:
            self.tally.judge("printed screen change", where, is_left_out(value, change), "no change", change)


def per_thread(figure, threads):
    """Converts blocked time, which is printed per thread."""
    value, change = figure
    return None if value is None else Fraction(value) / max(Fraction(threads["living"]) + Fraction(threads["ended"]), 1), change


def is_small(value, part):
    """Returns whether the printed part is 0 and the value rounds to 0.0, which is printed as 0."""
    return part == "0" and abs(value) < 0.05


def is_left_out(value, change):
    """Returns whether the change is omitted, because it is less than a hundredth of the value."""
    return not change or abs(change) * 100 <= abs(value or 0)
