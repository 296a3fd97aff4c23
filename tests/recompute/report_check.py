"""Checks the rows of `show` and `compare` in JSON: value, change, delta, percent, counts, coverage and other members.

    Checker(tally, "show run.ctprof.zst").show(report, side)
    Checker(tally, "compare A B").compare(report, [side_a, side_b])
"""

from figures import UNKNOWN
from lifetimes import oldest_age, turnover
from rules import as_number, is_text
from sides import SECOND, share, subtract
from tally import is_between

# A sum over several runs without rows can be 0.
EMPTY_VALUES = (None, 0)


def group_of(row):
    return tuple(row["group"]) if isinstance(row["group"], list) else row["group"]


def counts(pair):
    return dict(zip(("values", "rows"), pair))


class Checker:
    """`command` is printed with each difference."""

    def __init__(self, tally, command):
        self.tally, self.command = tally, command

    def kind_of(self, side, group, metric, figure):
        """Returns the kind of a value in the table of counts."""
        name = "rate" if side.is_per_second(group, metric) else "value"
        derived = " derived" if figure.rule == "derived" else ""
        of_runs = " median" if len(side.runs) > 1 else ""
        return f"{name}{derived}{of_runs}"

    def show(self, report, side):
        seen = set()
        for row in report["rows"]:
            group, metric = group_of(row), row["metric"]
            seen.add((group, metric))
            where = (self.command, group, metric)
            if not side.has(group, metric):
                self.tally.judge("row without readings has no value", where, row["value"] in EMPTY_VALUES, row["value"], None)
                continue
            self.value(where, side, group, metric, row, "value")
            self.change(where, side, group, metric, row)
            self.tally.check("per_second", where, row["per_second"], side.is_per_second(group, metric))
            self.counts(where, side, group, metric, row, "")
        self.check_row_is_present(seen, [side])

    def figure(self, side, group, metric):
        return next(figure for figure in side.figures(group, metric) if figure)

    def value(self, where, side, group, metric, row, key):
        kind = self.kind_of(side, group, metric, self.figure(side, group, metric))
        self.tally.check(kind, where, row[key], side.value(group, metric))

    def change(self, where, side, group, metric, row):
        """Checks the change of a gauge in a window; otherwise there must be none."""
        if not side.runs[0].span.is_window:
            return
        if len(side.runs) > 1 and side.runs[0].span.last.metrics.get(metric, {}).get("storage") == "map":
            self.tally.check("no change of keys over several runs", where, row["change"], None)
            return
        figure, recomputed = self.figure(side, group, metric), side.change(group, metric)
        if recomputed is UNKNOWN:
            self.tally.check("change unknown in this file", where, row["change"], None)
            return
        kind = f"change{' derived' if figure.rule == 'derived' else ''}{' median' if len(side.runs) > 1 else ''}"
        scale = abs(as_number(figure.value) or 0) if figure.has_change else 0
        self.tally.check(kind if figure.has_change else "no change of what is no gauge", where, row["change"], recomputed, scale)

    def counts(self, where, side, group, metric, row, suffix):
        tally = self.tally
        tally.check("coverage", where, row["coverage" + suffix], counts(side.coverage(group, metric)))
        tally.check("runs with a value", where, row["runs" + suffix], side.runs_with_value(group, metric))
        self.threads(where, side, group, row["threads" + suffix])
        if len(side.runs) == 1:
            figure = self.figure(side, group, metric)
            tally.check("busiest thread", where, row["busiest" + suffix], figure.busiest)
            tally.check("extras", where, row["extras" + suffix], figure.extras)

    def threads(self, where, side, group, found):
        self.tally.check("threads", where, found, side.threads(group))

    def check_row_is_present(self, seen, sides):
        """Checks that every group and metric with a reading (with several sides, on all of them) has a row."""
        for group, metric in set.intersection(*(side.groups() for side in sides)) - seen:
            if any(side.coverage(group, metric)[1] for side in sides):
                value = sides[-1].value(group, metric)
                self.tally.judge("row exists", (self.command, group, metric), value is None, "no row", value)
        for group, metric in seen:
            self.tally.checked["row exists"] += 1

    # ---- compare --------------------------------------------------------------------------------------------------------------

    def compare(self, report, sides):
        before, after = sides[:2]
        seen = set()
        for key, side in (("only_baseline", before), ("only_candidate", after)):
            for group in report[key]:
                self.check_one_sided_group(group, side)
        for row in report["rows"]:
            group, metric = group_of(row), row["metric"]
            seen.add((group, metric))
            where = (self.command, group, metric)
            if not before.has(group, metric) and not after.has(group, metric):
                values = [row[key] for key in row if key in ("baseline", "candidate") or key.startswith("candidate_")]
                self.tally.judge("row without readings has no value", where, all(value in EMPTY_VALUES for value in values), values, None)
                continue
            self.pair(where, before, after, group, metric, row, ("baseline", "candidate"), ("delta", "pct"))
            for number, side in enumerate(sides[2:], 2):
                self.pair(where, before, side, group, metric, row, ("baseline", f"candidate_{number}"), (f"delta_{number}", f"pct_{number}"))
        recomputed = {"only_baseline": before.present() - after.present(), "only_candidate": after.present() - before.present()}
        if len(sides) == 2:
            for key, groups in recomputed.items():
                self.tally.check("groups of one side", (self.command, key), sorted(map(str, map(group_of, report[key]))), sorted(map(str, groups)))
        self.check_row_is_present(seen, sides)

    def check_one_sided_group(self, group, side):
        name = group_of(group)
        for row in group["values"]:
            where = (self.command, name, row["metric"], "on one side")
            if not side.has(name, row["metric"]):
                self.tally.judge("row without readings has no value", where, row["value"] in EMPTY_VALUES, row["value"], None)
                continue
            self.value(where, side, name, row["metric"], row, "value")
            self.tally.check("coverage", where, row["coverage"], counts(side.coverage(name, row["metric"])))
            self.threads(where, side, name, group["threads"])

    def pair(self, where, before, after, group, metric, row, values, changes):
        for side, key in ((before, values[0]), (after, values[1])):
            if side.has(group, metric):
                self.value(where, side, group, metric, row, key)
                suffix = "_" + key
                if "coverage" + suffix in row:
                    self.counts(where, side, group, metric, row, suffix)
            else:
                self.tally.judge("value of a side without the row", where, row[key] in EMPTY_VALUES, row[key], None)
        if not (before.has(group, metric) and after.has(group, metric)):
            return
        first, last = before.value(group, metric), after.value(group, metric)
        if is_text(self.figure(after, group, metric).rule):
            return
        delta = subtract(first, last)
        numbers = [abs(number) for number in map(as_number, (first, last)) if number is not None]
        scale = max(numbers, default=0) or max((abs(value) for one in (first, last) if isinstance(one, dict) for value in one.values()
                                                if not isinstance(value, str)), default=0)
        self.tally.check("delta", where, row[changes[0]], delta, scale)
        recomputed = share(first, delta, row["unit"])
        self.tally.check("percent", where, row[changes[1]], recomputed, scale / abs(as_number(first)) if recomputed is not None else 0)
        if changes[0] == "delta":
            self.check_lifetimes(where, before, after, group, metric, row)

    def check_lifetimes(self, where, before, after, group, metric, row):
        """Checks additional values of snapshots. Same boot: how much started, exited and continuing threads contribute to each difference;
        different boots: values per second of age."""
        if before.runs[0].span.is_window or len(before.runs) > 1 or len(after.runs) > 1:
            return
        spans = [side.runs[0].span for side in (before, after)]
        figure = self.figure(after, group, metric)
        if spans[0].last.about["boot_id"] == spans[1].last.about["boot_id"]:
            for key, recomputed in turnover(before.runs[0], after.runs[0], group, metric).items():
                self.tally.check("turnover", (*where, key), row[key], recomputed)
            return
        for side, key in ((before, "baseline"), (after, "candidate")):
            figure = self.figure(side, group, metric)
            if not figure.is_counter or figure.entity not in ("thread", "process", "host"):
                continue
            age = oldest_age(side.runs[0], group, figure.entity)
            found = row["per_life_" + key]
            recomputed = None if age is None or figure.number is None else figure.number * SECOND / age[0]
            # The age lies between a minimum and a maximum, and so does the rate.
            right = found == recomputed if recomputed is None or found is None else is_between(recomputed * age[0] / age[1], found, recomputed)
            self.tally.judge("per second of life", (*where, key), right, found, recomputed)
            if metric == side.runs[0].span.last.with_role("run-time") and recomputed is not None:
                cpus = side.runs[0].span.last.header["host"]["online_cpus"]
                self.tally.judge("CPU time per second of life is at most the CPUs", (*where, key),
                                 found is not None and found <= cpus * SECOND * 1.001, found, cpus * SECOND)
