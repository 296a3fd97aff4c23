"""The metrics that captures define, and figures of them in SQL.

A figure is what can be compared between hosts. What counts up is per second of its window, and in percent of one CPU where ctprof shows
it so; a snapshot tells lifetimes, which have no such figure. Levels are as they are. Expressions are parsed by ctprof; a missing input or
a division by zero gives no value, and `name?` counts as zero as long as any other input is there.
"""

import functools
import json

from .database import text
from .errors import FleetError, nearest
from .printable import clean
from .plumbing import ask

KEYS = ("unit", "family", "entity")
PERCENT, RATE, LEVEL = "percent", "rate", "level"


class Metric:
    """As captures define it."""

    def __init__(self, definition):
        self.name = definition["name"]
        self.unit = definition.get("unit") or ""
        self.counts_up = definition.get("family") == "cumulative"
        headline = definition.get("headline") or {}
        self.label = headline.get("label")
        self.order = headline.get("order") or 0
        self.shown = headline.get("shown") or (RATE if self.counts_up else LEVEL)
        self.floor = headline.get("floor") or 0  # In the metric's unit, per second of what counts up.
        self.entry = headline.get("entry")  # What brings its rows into a family (core/compare/evidence/row_family.hpp).
        self.adds_up = definition.get("adds_up", True)
        self.definition = definition
        self.places = {}  # (In the totals, among those of headlines): of captures of which registries.

    def total(self):
        """In SQL, over a capture's row."""
        is_short = all(among for _, among in self.places)
        where = " ".join(f"WHEN registry IN ({', '.join(map(text, registries))}) THEN {among if is_short else at}"
                         for (at, among), registries in self.places.items())
        return f"{'headlines' if is_short else 'totals'}[CASE {where} END]"

    def is_headline(self):
        return self.label is not None

    def heading(self):
        return self.label or (self.name + "/s" if self.counts_up else self.name)

    def shown_unit(self):
        """In which its figures are told."""
        return PERCENT if self.shown == PERCENT else self.unit

    def scale(self):
        """From a sum per second to what is told: from ns to percent of a CPU."""
        return 1e-7 if self.shown == PERCENT else 1

    def told_floor(self):
        return self.floor * self.scale()

    def resolution(self, seconds):
        """The smallest difference of two figures of captures of so many seconds: one count, byte, page or 1 us (Rollup::resolution)."""
        if self.definition.get("derived"):
            return 0
        unit = {"ns": 1000, "bytes": 1 if self.counts_up else 4096}.get(self.unit, 1)
        return unit / seconds * self.scale() if self.counts_up else unit


class Metrics:
    def __init__(self, table):
        self.table = table
        self.by_name, self.in_conflict = {}, set()
        for registry, known in table.rows("SELECT DISTINCT registry, metrics FROM seen WHERE row = 'registry' ORDER BY registry"):
            headlines = 0
            for at, definition in enumerate(json.loads(known), 1):
                headlines += definition.get("headline") is not None
                self.add(definition, registry, (at, headlines if definition.get("headline") is not None else None))

    def add(self, definition, registry, place):
        before = self.by_name.setdefault(definition["name"], Metric(definition))
        before.places.setdefault(place, []).append(registry)
        if any(before.definition.get(key) != definition.get(key) for key in KEYS):
            self.in_conflict.add(before.name)

    @functools.cached_property
    def headlines(self):
        found = [metric for metric in self.by_name.values() if metric.is_headline() and metric.name not in self.in_conflict]
        return sorted(found, key=lambda metric: (metric.order, metric.name))

    def notes(self):
        return [f"captures disagree on what {clean(name)} is, so it is left out" for name in sorted(self.in_conflict)
                if self.by_name[name].is_headline()]

    def named(self, name):
        if name in self.in_conflict:
            raise FleetError(f"captures disagree on what metric '{clean(name)}' is, so their figures cannot be compared")
        if name in self.by_name:
            return self.by_name[name]
        near = nearest(name, self.by_name)
        raise FleetError(f"no capture has a metric '{clean(name)}'" + (f"; did you mean {clean(near)}?" if near else ""))

    def headline(self, name):
        metric = self.named(name)
        if not metric.is_headline():
            raise FleetError(f"of groups the index has headlines alone, and {clean(name)} is none: "
                             + ", ".join(one.name for one in self.headlines))
        return metric

    def figure(self, asked, group=None):
        """What `asked`, a metric or an expression, is in SQL over the view `counted`."""
        if asked in self.by_name or asked in self.in_conflict:
            metric = self.headline(asked) if group is not None else self.named(asked)
            return Figure(metric.heading(), metric.shown_unit(), sql_of(metric, group), metric)
        parsed = parse(asked)
        inputs = {name: self.headline(name) if group is not None else self.named(name) for name in parsed["metrics"]}
        return Figure(asked, "", expression_sql(parsed["expression"], lambda name: per_second(inputs[name], group)), None)


class Figure:
    def __init__(self, heading, unit, sql, metric):
        self.heading, self.unit, self.sql, self.metric = heading, unit, sql, metric


def raw(metric, group):
    """What the capture has: of its whole, or of a group. A group that is not there is zero where the capture measures the metric."""
    if group is None:
        return metric.total()
    name = text(metric.name)
    nth = f"list_position(groups, {text(group)})"
    return f"CASE WHEN {nth} > 0 THEN figures[{name}][{nth}] WHEN {metric.total()} IS NOT NULL THEN 0 END"


def per_second(metric, group=None, value=None):
    value = value or raw(metric, group)
    return f"({value}) / CASE WHEN kind = 'window' AND seconds > 0 THEN seconds END" if metric.counts_up else f"({value})"


def sql_of(metric, group=None, value=None):
    """As ctprof shows it."""
    scale = metric.scale()
    return per_second(metric, group, value) + (f" * {scale!r}" if scale != 1 else "")


def parse(asked):
    """By ctprof, whose grammar it is."""
    status, answer, said = ask("parse", asked)
    if status != 0:
        raise FleetError(said or f"'{clean(asked)}' is neither a metric nor an expression")
    return json.loads(answer)


def expression_sql(tree, value_of):
    """Optional inputs that are missing are zero, as long as any input is there."""
    leaves = list(inputs(tree))
    required = [f"{value_of(leaf['metric'])} IS NOT NULL" for leaf in leaves if not leaf.get("optional")]
    optional = [value_of(leaf["metric"]) for leaf in leaves if leaf.get("optional")]
    there = " AND ".join(required) if required else f"coalesce({', '.join(optional)}) IS NOT NULL" if optional else "true"
    return f"CASE WHEN {there} THEN {node_sql(tree, value_of)} END"


def inputs(tree):
    if "metric" in tree:
        yield tree
    for part in tree.get("of", ()):
        yield from inputs(part)


def node_sql(tree, value_of):
    if "number" in tree:
        return f"{float(tree['number'])!r}::DOUBLE"
    if "metric" in tree:
        value = value_of(tree["metric"])
        return f"coalesce({value}, 0)" if tree.get("optional") else f"({value})"
    parts = [node_sql(part, value_of) for part in tree["of"]]
    if tree["op"] == "max":
        return f"greatest({', '.join(parts)})"
    if tree["op"] == "/":
        parts = [parts[0], *(f"nullif({part}, 0)" for part in parts[1:])]
    if tree["op"] == "-" and len(parts) == 1:
        return f"(-{parts[0]})"
    return "(" + f" {tree['op']} ".join(parts) + ")"
