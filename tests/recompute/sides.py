"""Sides with one or several runs: rates over the length of each window, medians over runs, and changes between sides.

    side = Side([Figures(...), ...], per_second=True)
    side.value("sh", "run_time_ns")              # the median over the runs, per second
    compare(side, other, "sh", "run_time_ns")    # (delta, pct)
"""

from fractions import Fraction

import formula
from figures import HOST, UNKNOWN
from rules import as_number, is_sum, is_text, range_of, reduce_cells

SECOND = 10**9


def median(numbers):
    """Returns the middle number, or the mean of the middle two."""
    numbers = sorted(numbers)
    middle = len(numbers) // 2
    return numbers[middle] if len(numbers) % 2 else Fraction(numbers[middle - 1] + numbers[middle]) / 2


class Side:
    def __init__(self, runs, per_second):
        self.runs, self.per_second = runs, per_second
        self.rates = [Fraction(SECOND) * count / time for time, count in (run.span.rates_over() for run in runs)] if per_second else [1] * len(runs)

    def rate(self, number, metric):
        """Returns the factor for counters of a run; sums of a recorder are divided by the time that they cover."""
        covered = self.per_second and self.covered_time(self.runs[number], metric)
        return Fraction(SECOND, covered) if covered else self.rates[number]

    def covered_time(self, run, metric):
        """Returns the ns that a recorded metric covers, or that all inputs of a derived one cover equally; 0: the threads' window."""
        if metric in run.definitions and metric not in run.span.metrics:
            found = {self.covered_time(run, name.partition("[")[0]) for name, _ in formula.inputs(run.definitions[metric])}
            return found.pop() if len(found) == 1 else 0
        return run.span.covered_time(metric)

    def figures(self, group, metric):
        return [run.all.get((group, metric)) for run in self.runs]

    def has(self, group, metric):
        return any(self.figures(group, metric))

    def is_per_second(self, group, metric):
        """Returns whether the metric is a counter, or for maps whether a key is."""
        if not self.per_second:
            return False
        known = self.runs[0].span.metrics.get(metric)
        if known and known["storage"] == "map":
            values = [figure.value for figure in self.figures(group, metric) if figure and figure.value]
            return known["family"] == "cumulative" or any(self.runs[0].span.is_counter(metric, key) for value in values for key in value)
        return any(figure and figure.is_counter for figure in self.figures(group, metric))

    def measures(self, run, metric):
        """Returns whether the run reads the metric, or for derived metrics any input and all required ones."""
        if metric in run.definitions:
            inputs = [(self.measures(run, name.partition("[")[0]), optional) for name, optional in formula.inputs(run.definitions[metric])]
            return all(measured or optional for measured, optional in inputs) and any(measured for measured, _ in inputs)
        known = run.span.metrics.get(metric)
        return metric == "thread_count" or known is not None and known.get("gap") is None and metric not in run.span.last.left_out

    def is_sum(self, metric, figures):
        rules = {figure.rule for figure in figures if figure}
        return any(figure.is_counter for figure in figures if figure) or any(map(is_sum, rules))

    def value_in_run(self, number, group, metric, of="value"):
        """Returns the value of one run, per second for counters; None for a gap.

        A sum is 0 if the run has no applicable row, because the group is missing or its processes exited.
        """
        run, figure = self.runs[number], self.runs[number].all.get((group, metric))
        if figure is None:
            counts_as_zero = group != HOST and self.measures(run, metric) and self.is_sum(metric, self.figures(group, metric))
            return 0 if counts_as_zero else None
        found = getattr(figure, of)
        if found is UNKNOWN or found is None:
            return found
        return self.scale(found, self.rate(number, metric), run, metric) if figure.is_counter or isinstance(found, dict) else found

    def scale(self, found, rate, run, metric):
        if not isinstance(found, dict):
            return Fraction(as_number(found)) * rate
        if run.span.metrics.get(metric, {}).get("storage") != "map" or not self.per_second:
            return found
        return {key: value * rate if run.span.is_counter(metric, key) else value for key, value in found.items()}

    def value(self, group, metric):
        if len(self.runs) == 1:
            return self.value_in_run(0, group, metric)
        rule = next(figure.rule for figure in self.figures(group, metric) if figure)
        if is_text(rule) or rule.startswith("Range"):
            return self.merge(rule, group, metric)
        found = [self.value_in_run(number, group, metric) for number in range(len(self.runs))]
        known = [value for value in found if value is not None]
        if not known:
            return None
        if any(isinstance(value, dict) for value in known):
            keys = {key for value in known for key in value or {}}
            return {key: median([Fraction(value[key]) if value and key in value else Fraction(0) for value in known]) for key in keys}
        numbers = [as_number(value) for value in known]
        return None if None in numbers else median(numbers)

    def merge(self, rule, group, metric):
        """Reduces a metric without a median over the rows of all runs together."""
        figures = [figure for figure in self.figures(group, metric) if figure and figure.value is not None]
        if not figures:
            return None
        if rule.startswith("Range"):
            return range_of([figure.value[end] for figure in figures for end in ("min", "max")])
        return reduce_cells(rule, [cell for figure in figures for cell in figure.cells])

    def change(self, group, metric):
        """Returns the median change of the runs' gauges; None if no run has a change."""
        if not any(figure and figure.has_change for figure in self.figures(group, metric)):
            return None
        found = [self.change_in_run(number, group, metric) for number in range(len(self.runs))]
        if UNKNOWN in found:
            return UNKNOWN
        known = [change for change in found if change is not None]
        if not known:
            return None
        if any(isinstance(change, dict) for change in known):
            keys = {key for change in known for key in change or {}}
            return {key: median([change[key] if change and key in change else 0 for change in known]) for key in keys}
        return median(known)

    def change_in_run(self, number, group, metric):
        """Returns the negated opening value of exited processes for a run without rows of the group."""
        run = self.runs[number]
        left = run.change_of_missing_group(group, metric) if run.all.get((group, metric)) is None else None
        return left if left not in (None, 0) else self.value_in_run(number, group, metric, "change")

    def coverage(self, group, metric):
        known = [figure.coverage for figure in self.figures(group, metric) if figure]
        return tuple(sum(one[at] for one in known) for at in (0, 1))

    def runs_with_value(self, group, metric):
        return sum(figure is not None and figure.value is not None for figure in self.figures(group, metric))

    def threads(self, group):
        """Returns the median thread count, which can end in a half."""
        if group == HOST:
            return median([run.span.tables["thread"].rows for run in self.runs])
        return median([run.sizes.get(group, 0) for run in self.runs])

    def groups(self):
        return {key for run in self.runs for key in run.all}

    def present(self):
        """Returns the groups of any run. The medians of such a group can still be zero."""
        return {group for run in self.runs for group in run.present}


def subtract(before, after):
    """Returns the change of a value, for maps by key; None if a side has no number."""
    if isinstance(before, dict) and isinstance(after, dict) and not {"min", "total"} & (before.keys() | after.keys()):
        return {key: after.get(key, 0) - before.get(key, 0) for key in before.keys() | after.keys()}
    before, after = as_number(before), as_number(after)
    return None if before is None or after is None else after - before


def share(before, delta, unit):
    """Returns the change as a fraction of the baseline; None for a ratio, for zero, and without a number."""
    before = as_number(before)
    if before is None or delta is None or isinstance(delta, dict) or before == 0 or unit == "ratio":
        return None
    return delta / before
