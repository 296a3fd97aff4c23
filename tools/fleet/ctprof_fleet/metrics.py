"""The metrics that captures define, and their figures in SQL.

A figure is a value that can be compared between hosts. Counters are per second of their window, and in percent of one CPU if ctprof shows
them so; counters of a snapshot are lifetime totals and have no figure. Levels are unchanged. ctprof parses expressions; a missing input or
a division by zero gives no value, and `name?` counts as zero as long as any other input exists.
"""

import functools
import json

from .database import sql_string
from .errors import FleetError, find_nearest
from .printable import escape_hidden
from .subcommands import run_subcommand

IDENTIFYING_KEYS = ("unit", "family", "entity")
PERCENT, RATE, LEVEL = "percent", "rate", "level"


class Metric:
    """A metric as captures define it."""

    def __init__(self, definition):
        self.name = definition["name"]
        self.unit = definition.get("unit") or ""
        self.is_counter = definition.get("family") == "cumulative"
        headline = definition.get("headline") or {}
        self.label = headline.get("label")
        self.order = headline.get("order") or 0
        self.shown = headline.get("shown") or (RATE if self.is_counter else LEVEL)
        self.floor = headline.get("floor") or 0  # In the metric's unit; for counters, per second.
        self.entry = headline.get("entry")  # The condition under which its rows join a family (core/compare/evidence/row_family.hpp).
        self.adds_up = definition.get("adds_up", True)
        self.definition = definition
        self.positions = {}  # Its index in the totals of all metrics and in those of headlines -> ids of the registries with these indexes.

    def total(self):
        """Returns SQL for the total in a capture's row."""
        is_short = all(among for _, among in self.positions)
        where = " ".join(f"WHEN registry IN ({', '.join(map(sql_string, registries))}) THEN {among if is_short else at}"
                         for (at, among), registries in self.positions.items())
        return f"{'headlines' if is_short else 'totals'}[CASE {where} END]"

    def is_headline(self):
        return self.label is not None

    def heading(self):
        return self.label or (self.name + "/s" if self.is_counter else self.name)

    def shown_unit(self):
        """Returns the unit in which its figures are shown."""
        return PERCENT if self.shown == PERCENT else self.unit

    def scale(self):
        """Returns the factor from the stored unit per second to the shown unit: from ns to percent of a CPU."""
        return 1e-7 if self.shown == PERCENT else 1

    def shown_floor(self):
        return self.floor * self.scale()

    def resolution(self, seconds):
        """Returns the smallest difference of two figures of captures of that length: one count, byte, page or 1 us (Rollup::resolution)."""
        if self.definition.get("derived"):
            return 0
        unit = {"ns": 1000, "bytes": 1 if self.is_counter else 4096}.get(self.unit, 1)
        return unit / seconds * self.scale() if self.is_counter else unit


class Metrics:
    def __init__(self, table):
        self.table = table
        self.by_name, self.conflicting = {}, set()
        for registry, known in table.fetch_rows("SELECT DISTINCT registry, metrics FROM seen WHERE row = 'registry' ORDER BY registry"):
            headlines = 0
            for at, definition in enumerate(json.loads(known), 1):
                headlines += definition.get("headline") is not None
                self.add(definition, registry, (at, headlines if definition.get("headline") is not None else None))

    def add(self, definition, registry, position):
        before = self.by_name.setdefault(definition["name"], Metric(definition))
        before.positions.setdefault(position, []).append(registry)
        if any(before.definition.get(key) != definition.get(key) for key in IDENTIFYING_KEYS):
            self.conflicting.add(before.name)

    @functools.cached_property
    def headlines(self):
        found = [metric for metric in self.by_name.values() if metric.is_headline() and metric.name not in self.conflicting]
        return sorted(found, key=lambda metric: (metric.order, metric.name))

    def notes(self):
        return [f"captures define {escape_hidden(name)} differently, so it is left out" for name in sorted(self.conflicting)
                if self.by_name[name].is_headline()]

    def find(self, name):
        if name in self.conflicting:
            raise FleetError(f"captures define metric '{escape_hidden(name)}' differently, so their figures cannot be compared")
        if name in self.by_name:
            return self.by_name[name]
        nearest = find_nearest(name, self.by_name)
        raise FleetError(f"no capture has a metric '{escape_hidden(name)}'" + (f"; did you mean {escape_hidden(nearest)}?" if nearest else ""))

    def find_headline(self, name):
        metric = self.find(name)
        if not metric.is_headline():
            raise FleetError(f"the index stores only headlines of groups, and {escape_hidden(name)} is not one; use one of "
                             + ", ".join(one.name for one in self.headlines))
        return metric

    def make_figure(self, expression, group=None):
        """Returns the figure for a metric or an expression, with SQL over the view `counted`."""
        if expression in self.by_name or expression in self.conflicting:
            metric = self.find_headline(expression) if group is not None else self.find(expression)
            return Figure(metric.heading(), metric.shown_unit(), figure_sql(metric, group), metric)
        parsed = parse_expression(expression)
        inputs = {name: self.find_headline(name) if group is not None else self.find(name) for name in parsed["metrics"]}
        return Figure(expression, "", expression_sql(parsed["expression"], lambda name: rate_sql(inputs[name], group)), None)


class Figure:
    def __init__(self, heading, unit, sql, metric):
        self.heading, self.unit, self.sql, self.metric = heading, unit, sql, metric


def raw_sql(metric, group):
    """Returns SQL for the value of a capture, or of a group. A missing group is zero if the capture measures the metric."""
    if group is None:
        return metric.total()
    name = sql_string(metric.name)
    nth = f"list_position(groups, {sql_string(group)})"
    return f"CASE WHEN {nth} > 0 THEN figures[{name}][{nth}] WHEN {metric.total()} IS NOT NULL THEN 0 END"


def rate_sql(metric, group=None, value=None):
    value = value or raw_sql(metric, group)
    return f"({value}) / CASE WHEN kind = 'window' AND seconds > 0 THEN seconds END" if metric.is_counter else f"({value})"


def figure_sql(metric, group=None, value=None):
    """Returns SQL for the figure as ctprof shows it."""
    scale = metric.scale()
    return rate_sql(metric, group, value) + (f" * {scale!r}" if scale != 1 else "")


def parse_expression(expression):
    """Parses an expression with `ctprof fleet parse`."""
    status, answer, message = run_subcommand("parse", expression)
    if status != 0:
        raise FleetError(message or f"'{escape_hidden(expression)}' is neither a metric nor an expression")
    return json.loads(answer)


def expression_sql(tree, value_of):
    """Returns SQL for an expression. Missing optional inputs are zero, as long as any input exists."""
    leaves = list(input_nodes(tree))
    required = [f"{value_of(leaf['metric'])} IS NOT NULL" for leaf in leaves if not leaf.get("optional")]
    optional = [value_of(leaf["metric"]) for leaf in leaves if leaf.get("optional")]
    there = " AND ".join(required) if required else f"coalesce({', '.join(optional)}) IS NOT NULL" if optional else "true"
    return f"CASE WHEN {there} THEN {node_sql(tree, value_of)} END"


def input_nodes(tree):
    if "metric" in tree:
        yield tree
    for part in tree.get("of", ()):
        yield from input_nodes(part)


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
