"""Values of one run: group x metric, with value, change, coverage and the busiest thread.

    figures = Figures(span, grouping)
    figures.all["sh", "rss_bytes"].value, .change, .coverage
"""

from fractions import Fraction

import formula
from accounts import BLOCKED
from capture_file import NOT_APPLICABLE, THREAD_GONE, has_value
from grouping import HOST
from rules import as_number, is_key_of_a_row, reduce_cells

# The gaps of a row without memory or after its exit.
GAPS_WITHOUT_VALUE = (NOT_APPLICABLE, THREAD_GONE)
UNKNOWN = object()  # a change that cannot be computed from any file
# Hidden inputs of other metrics.
HIDDEN_ROLES = ("run-time-in-progress", "wait-time-in-progress")
# This metric has no value if the result would be negative.
OFF_CPU_BEYOND_DELAYS = "offcpu_beyond_delays_ns"
BLOCKED_SHARE = f"{BLOCKED} / (%s + %s + {BLOCKED})"


class Figure:
    """`start` is the group's value at the opening of the window. `is_counter` is true for counters."""

    def __init__(self, value, coverage, change=None, is_counter=False, busiest=None, extras=None, rule="", entity="thread"):
        self.value, self.coverage, self.change, self.is_counter = value, coverage, change, is_counter
        self.busiest, self.extras, self.rule, self.entity = busiest, extras, rule, entity
        self.start, self.parts, self.has_change, self.cells = None, None, False, ()

    @property
    def number(self):
        return as_number(self.value)


class Figures:
    def __init__(self, span, grouping, derive=()):
        self.span, self.grouping = span, grouping
        self.rows = grouping.rows(span)
        self.all = {}
        self.sizes = {group: len(rows) for group, rows in self.rows["thread"].items()}
        self.sizes |= {group: self.threads_of_processes(rows) for group, rows in self.rows["process"].items() if group not in self.sizes}
        self.present = set(self.sizes) | set(self.rows["cgroup"])
        for name, metric in span.metrics.items():
            if metric["family"] == "identity" or is_key_of_a_row(metric["rule"]) or span.is_window and metric.get("role") in HIDDEN_ROLES:
                continue
            for group, rows in self.rows[metric["entity"]].items():
                if figure := self.reduce(metric, name, group, rows):
                    self.all[group, name] = figure
        for group, rows in self.rows["thread"].items():
            self.all[group, "thread_count"] = Figure(len(rows), (len(rows), len(rows)), rule="SumCount")
        self.definitions = {name: formula.parse(metric["expression"]) for name, metric in span.derived.items()}
        if BLOCKED in span.metrics:
            self.definitions["blocked_share"] = formula.parse(BLOCKED_SHARE % tuple(span.in_progress))
        self.definitions |= {name: formula.parse(text) for name, text in derive}
        for name, tree in self.definitions.items():
            of_host = all(span.metrics.get(one.partition("[")[0], {}).get("entity") == "host" for one, _ in formula.inputs(tree))
            for group in {HOST} if of_host else self.present:
                if figure := self.derive(name, tree, group):
                    self.all[group, name] = figure

    def threads_of_processes(self, rows):
        """Returns the final number of threads for groups of single processes."""
        processes, threads = self.span.tables["process"], self.span.tables["thread"]
        found = {processes.now["process.tgid"][row] for row in rows}
        return sum(threads.now["tgid"][row] in found and not threads.ended[row] for row in range(threads.rows))

    def reduce(self, metric, name, group, rows):
        entity, rule = metric["entity"], metric["rule"]
        cells = [(row, self.span.value(entity, name, row)) for row in rows]
        cells = [(row, cell) for row, cell in cells if cell is not NOT_APPLICABLE]
        if not cells:
            return None
        known = [(row, cell) for row, cell in cells if has_value(cell)]
        is_counter = metric["storage"] != "map" and metric["family"] == "cumulative"
        value = reduce_cells(rule, [cell for _, cell in known], self.key_is_counter(name))
        figure = Figure(value, (len(known), len(cells)), is_counter=is_counter, rule=rule, entity=entity)
        figure.cells = [cell for _, cell in known] if rule.startswith("Mode") or rule == "Affinity" else ()
        if entity == "thread":
            figure.busiest, figure.extras = self.busiest(rule, known), self.extras(rule, known)
        if self.span.is_window and metric["family"] == "gauge":
            figure.has_change = True
            figure.start, figure.change = self.start_and_change(metric, name, group, rows, known)
        return figure

    def key_is_counter(self, name):
        return lambda key: self.span.is_counter(name, key)

    def busiest(self, rule, known):
        if not rule.startswith(("Sum", "Max", "StackSum")):
            return None
        threads, best = self.span.tables["thread"], None
        for row, cell in known:
            if cell > 0 and (best is None or cell > best[0]):
                comm = threads.reading("comm", row)
                best = (cell, {"tid": threads.now["tid"][row], "comm": comm if has_value(comm) else ""})
        return best and best[1]

    def extras(self, rule, known):
        return {"min_nonzero": min((cell for _, cell in known if cell > 0), default=None)} if rule == "MaxPeak" and known else None

    def start_and_change(self, metric, name, group, rows, known):
        """Returns the end minus the start over the same rows: rows that exist at the end, and rows that exited."""
        span, entity = self.span, metric["entity"]
        table = span.tables[entity]
        if entity in ("thread", "process") and not table.opening_only_is_complete and self.has_exits(group, entity):
            return UNKNOWN, UNKNOWN
        if name not in table.then:
            return None, None
        opening_cells = [cells[name] for cells in self.rows["opening_only"][entity].get(group, ()) if name in cells]
        if any(not has_value(cell) and cell is not NOT_APPLICABLE for cell in opening_cells):
            return None, None  # the row exited after it was listed and before it was read
        ends, starts, gaps = [], [], 0
        for row in rows:
            end, start = span.value(entity, name, row), span.opening(entity, name, row)
            if table.ended[row] and not has_value(start) and start is not NOT_APPLICABLE:
                return None, None
            if any(cell not in GAPS_WITHOUT_VALUE and not has_value(cell) for cell in (end, start)):
                gaps += 1
                continue  # a row with an unknown end is not counted at either end
            ends += [end] if has_value(end) else []
            starts += [start] if has_value(start) else []
        starts += [cell for cell in opening_cells if has_value(cell)]
        if not ends and (gaps or not starts):
            return None, None
        return self.subtract(metric, ends, starts)

    def subtract(self, metric, ends, starts):
        if metric["storage"] == "map":
            keys = {key for cell in ends for key in cell if not self.span.is_counter(metric["name"], key)}
            end, start = (reduce_cells(metric["rule"], cells, self.key_is_counter(metric["name"])) or {} for cells in (ends, starts))
            return start, {key: end.get(key, 0) - start.get(key, 0) for key in sorted(keys)} if ends else None
        end, start = (as_number(reduce_cells(metric["rule"], cells)) or 0 for cells in (ends, starts))
        return start, end - start

    def has_exits(self, group, entity):
        """Returns whether a thread of the group that existed at the opening exited; for processes, a leader with its own memory."""
        threads = self.span.tables["thread"]
        rows = [row for row in self.rows["thread"].get(group, ()) if threads.ended[row] and not threads.born[row]]
        if entity == "process":
            rows = [row for row in rows if threads.now["tid"][row] == threads.now["tgid"][row] and threads.reading("kernel_thread", row) is not True]
        return bool(rows) or bool(self.span.unseen)

    def change_of_missing_group(self, group, name):
        """Returns the change of a group without an applicable row at the end: its opening value, negated."""
        metric = self.span.metrics.get(name)
        if metric is None or metric["family"] != "gauge":
            return None
        if not self.span.tables[metric["entity"]].opening_only_is_complete and self.has_exits(group, metric["entity"]):
            return UNKNOWN
        opening_cells = [cells[name] for cells in self.rows["opening_only"][metric["entity"]].get(group, ()) if cells.get(name, NOT_APPLICABLE) is not NOT_APPLICABLE]
        return -sum(opening_cells) if all(map(has_value, opening_cells)) else None

    # ---- derived metrics ------------------------------------------------------------------------------------------------------

    def kind_of(self, name):
        base = name.partition("[")[0]
        if base in self.definitions and base not in self.span.metrics:
            return formula.behaviour(self.definitions[base], {one: self.kind_of(one) for one, _ in formula.inputs(self.definitions[base])})
        if base == "thread_count":
            return "level"
        metric = self.span.metrics.get(base)
        if metric is None:
            return "level"
        key = name.partition("[")[2].rstrip("]").strip('"')
        return "counter" if self.span.is_counter(base, key) else "level"

    def find_input(self, group, name):
        """Returns the value of an input; an input that was not recorded because it is expensive has no value for any thread."""
        base = name.partition("[")[0]
        metric = self.span.metrics.get(base)
        if base in self.span.last.left_out:
            return Figure(None, (0, len(self.rows["thread"].get(group, ()))))
        return self.all.get((HOST if metric and metric["entity"] == "host" else group, base))

    def input(self, group, name, of="value"):
        key = name.partition("[")[2]
        figure = self.find_input(group, name)
        if figure is None:
            return None
        found = getattr(figure, of)
        if key:
            found = found.get(key.rstrip("]").strip('"')) if isinstance(found, dict) else None
        return as_number(found) if found is not UNKNOWN else None

    def derive(self, name, tree, group):
        registered = self.span.derived.get(name, {})
        names = list(dict.fromkeys(formula.inputs(tree)))
        figures = [self.find_input(group, one) for one, _ in names]
        present = [figure for figure in figures if figure]
        if not present or any(figure is None and not optional for figure, (_, optional) in zip(figures, names)):
            return None
        kinds = {one: self.kind_of(one) for one, _ in names}
        behaviour = formula.behaviour(tree, kinds)
        coverage = tuple(sum(figure.coverage[at] for figure in present) for at in (0, 1))
        # A difference of counters is a level if its family is gauge; then it is computed from the totals at both ends.
        is_level_of_counters = behaviour == "counter" and formula.subtracts(tree) and registered.get("family") == "gauge"
        figure = Figure(None, coverage, is_counter=behaviour == "counter" and not is_level_of_counters, rule="derived")
        figure.behaviour = behaviour
        if is_level_of_counters and self.span.is_window:
            ends = {one: self.lifetime(group, one, at_end=True) for one, _ in names}
            starts = {one: self.lifetime(group, one, at_end=False) for one, _ in names}
            figure.value, figure.start = formula.evaluate(tree, ends.get), formula.evaluate(tree, starts.get)
        else:
            figure.value = formula.evaluate(tree, lambda one: self.input(group, one))
            if name == OFF_CPU_BEYOND_DELAYS and figure.value is not None and figure.value < 0:
                figure.value = None  # overlapping delays
            if self.span.is_window and behaviour == "level":
                figure.start = formula.evaluate(tree, lambda one: self.input(group, one, "start"))
        if self.span.is_window and (is_level_of_counters or behaviour == "level"):
            figure.has_change = True
            unknown = any(one and one.start is UNKNOWN for one in figures)
            known = figure.value is not None and figure.start is not None
            figure.change = UNKNOWN if unknown else figure.value - figure.start if known else None
        return figure

    def lifetime(self, group, name, at_end):
        """Returns the sum of a counter over the group at one end of the window; exited threads have their values at exit."""
        metric = self.span.metrics[name]
        table = self.span.tables[metric["entity"]]
        cells = [table.reading(name, row) if at_end else self.span.opening(metric["entity"], name, row)
                 for row in self.rows[metric["entity"]][group]]
        known = [cell for cell in cells if has_value(cell)]
        # Threads that started inside the window start at zero.
        return Fraction(sum(known)) if known or not at_end and all(cell is NOT_APPLICABLE for cell in cells) else None
