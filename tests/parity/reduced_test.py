#!/usr/bin/python3
"""What `show` and `compare` make of a group is what plain arithmetic makes of the rows in the file.

Every group, every metric, by the rule that the file's registry names; coverage, derived figures, differences and percent too. The
files are those of the recorded trees, and one of the live host.
"""

import json
import os
import unittest
from collections import Counter
from fractions import Fraction

import file_json
import harness
from file_json import Gap

LARGEST = 2**64 - 1

# A question that has no meaning for any row of a group has no line.
NOTHING_APPLIES = {"values": 0, "rows": 0}

DERIVED = {
    "affine_success_ratio": lambda v: v("nr_wakeups_affine") / v("nr_wakeups_affine_attempts"),
    "avg_wait_ns": lambda v: v("wait_sum") / v("wait_count"),
    "cpu_efficiency": lambda v: v("run_time_ns") / (v("run_time_ns") + v("wait_time_ns")),
    "avg_slice_ns": lambda v: v("run_time_ns") / v("timeslices"),
    "involuntary_csw_ratio": lambda v: v("nonvoluntary_csw") / (v("voluntary_csw") + v("nonvoluntary_csw")),
    "disk_io_fraction": lambda v: v("read_bytes") / v("rchar"),
    "avg_iowait_ns": lambda v: v("iowait_sum") / v("iowait_count"),
}


def text(cell):
    return cell.decode(errors="replace") if isinstance(cell, bytes) else cell


def total(cells):
    return min(sum(cells), LARGEST)


def tally(cells):
    """The most frequent, of equals the smallest: as text, so that false comes before true."""
    counts = Counter(text(cell) for cell in cells)
    winner = min(counts, key=lambda value: (-counts[value], str(value)))
    return {"value": winner, "count": counts[winner], "total": len(cells)}


def cpu_list(cpus):
    """As the kernel writes sets of CPUs: 0-3,8."""
    runs = []
    for cpu in cpus:
        if runs and runs[-1][1] == cpu - 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def affinity(cells):
    sizes = [len(cell) for cell in cells]
    alike = all(cell == cells[0] for cell in cells)
    return {"min": min(sizes), "max": max(sizes), "cpus": cpu_list(cells[0]) if alike else None}


def by_key(cells):
    return {key: total(cell[key] for cell in cells if key in cell) for key in sorted({key for cell in cells for key in cell})}


def reduce(rule, cells):
    """What a group's values become; None of none."""
    if not cells:
        return None
    if rule.startswith("Range"):
        return {"min": min(cells), "max": max(cells)}
    if rule.startswith("Mode"):
        return tally(cells)
    return {"Affinity": affinity, "MapSum": by_key}.get(rule, total if rule.startswith("Sum") else max)(cells)


def number(value):
    """A reduced value as one number, exactly; None where it is none."""
    if isinstance(value, dict):
        return Fraction(value["min"] + value["max"], 2) if "min" in value else None
    return None if value is None or isinstance(value, (str, list)) else Fraction(value)


def derived(formula, values):
    """The figure, or None where an input is missing or a divisor is 0."""
    def value(name):
        if number(values.get(name)) is None:
            raise KeyError(name)
        return number(values[name])
    try:
        return formula(value)
    except (KeyError, ZeroDivisionError):
        return None


class Groups:
    """A file's rows, grouped: group -> metric -> (value, coverage)."""

    def __init__(self, path, axis):
        file = file_json.load(path)
        axis = {"pcomm": "pcomm", "comm-exact": "comm"}[axis]
        self.rules = {name: metric["rule"] for name, metric in file.metrics.items() if metric["family"] != "identity"}
        members = {}
        for (tgid, tid), row in file.threads.items():
            rows = [row | (file.processes[tgid] if tid == tgid else {})]
            members.setdefault(text(row[axis]), []).extend(rows)
        self.groups = {key: self._reduce(rows) for key, rows in members.items()}
        self.sizes = {key: len(rows) for key, rows in members.items()}

    def _reduce(self, rows):
        found = {"thread_count": (len(rows), None)}
        for name, rule in self.rules.items():
            cells = [row[name] for row in rows if name in row and row[name] != Gap("NotApplicable")]
            values = [cell for cell in cells if not isinstance(cell, Gap)]
            if name != "thread_count":
                found[name] = (reduce(rule, values), {"values": len(values), "rows": len(cells)})
        values = {name: value for name, (value, _) in found.items()}
        return found | {name: (derived(formula, values), None) for name, formula in DERIVED.items()}


def said(*words):
    done = harness.run(*words, "--format", "json", "--limit", "0")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def differs(expected, found):
    """Whether a value in JSON is not what it should be; figures with a fraction may be off in their last digits."""
    if isinstance(expected, Fraction):
        return found is None or abs(Fraction(found) - expected) > abs(expected) * Fraction(1, 10**12)
    return found != expected


class Reduced(unittest.TestCase):
    longMessage = False

    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.directory = scratch.name

    def path(self, name):
        return os.path.join(self.directory, f"{name}.ctprof.zst")

    def assert_none(self, wrong):
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong[:20]))

    def wrong_in_show(self, path, axis):
        groups = Groups(path, axis)
        rows = said("show", path, "--group-by", axis)["rows"]
        seen = {(row["group"], row["metric"]) for row in rows}
        for group, metrics in groups.groups.items():
            yield from (f"{group}: {metric} is not shown" for metric, (_, coverage) in metrics.items()
                        if (group, metric) not in seen and coverage != NOTHING_APPLIES)
        for row in rows:
            yield from self.wrong_in_row(row, groups)

    def wrong_in_row(self, row, groups):
        value, coverage = groups.groups[row["group"]][row["metric"]]
        where = f"{row['group']}: {row['metric']}"
        if differs(value, row["value"]):
            yield f"{where} is {row['value']}, not {value}"
        if coverage is not None and row["coverage"] != coverage:
            yield f"{where} covers {row['coverage']}, not {coverage}"
        if row["threads"] != groups.sizes[row["group"]]:
            yield f"{where}: {row['threads']} threads, not {groups.sizes[row['group']]}"

    def test_show_of_recorded_trees(self):
        for kernel in harness.kernels():
            harness.capture_tree(kernel, self.path(kernel))
            for axis in ("pcomm", "comm-exact"):
                with self.subTest(kernel=kernel, axis=axis):
                    self.assert_none(list(self.wrong_in_show(self.path(kernel), axis)))

    def test_show_of_the_live_host(self):
        with harness.Helper("SLEEPERS", cwd=self.directory):  # their names are hostile
            harness.capture(self.path("live"))
        for axis in ("pcomm", "comm-exact"):
            with self.subTest(axis=axis):
                self.assert_none(list(self.wrong_in_show(self.path("live"), axis)))

    def wrong_in_comparison(self, row, baseline, candidate):
        where = f"{row['group']}: {row['metric']}"
        before, _ = baseline.groups[row["group"]].get(row["metric"], (None, None))
        after, _ = candidate.groups[row["group"]].get(row["metric"], (None, None))
        if differs(before, row["baseline"]) or differs(after, row["candidate"]):
            yield f"{where}: {row['baseline']} and {row['candidate']}, not {before} and {after}"
        before, after = number(before), number(after)
        if before is None or after is None:
            return
        if differs(after - before, row["delta"]):
            yield f"{where}: the difference is {row['delta']}, not {after - before}"
        if row["unit"] == "ratio" or before == 0:
            share = None
        else:
            share = (after - before) / before
        if differs(share, row["pct"]):
            yield f"{where}: the share is {row['pct']}, not {share} of {before}"

    def test_compare(self):
        harness.capture_tree("6.12", self.path("a"))
        harness.capture_tree("6.18", self.path("b"))
        for axis in ("pcomm", "comm-exact"):
            with self.subTest(axis=axis):
                baseline, candidate = Groups(self.path("a"), axis), Groups(self.path("b"), axis)
                comparison = said("compare", self.path("a"), self.path("b"), "--group-by", axis)
                self.assertEqual(sorted(comparison["only_baseline"]), sorted(set(baseline.groups) - set(candidate.groups)))
                self.assertEqual(sorted(comparison["only_candidate"]), sorted(set(candidate.groups) - set(baseline.groups)))
                self.assertEqual({row["group"] for row in comparison["rows"]}, set(baseline.groups) & set(candidate.groups))
                self.assert_none([wrong for row in comparison["rows"] for wrong in self.wrong_in_comparison(row, baseline, candidate)])


if __name__ == "__main__":
    harness.main()
