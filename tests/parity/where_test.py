#!/usr/bin/python3
"""Checks --where, --derive and --fail-on by plain code: reports must contain what the conditions select from the rows in the file."""

import json
import os
import re
import unittest
from fractions import Fraction

import harness
from file_json import Gap
from aggregation_test import AXES, Groups, differs, group_of, report_of, format_cell


def value(thread, name):
    """Returns None for a gap."""
    cell = thread.get(name)
    return None if isinstance(cell, Gap) else format_cell(cell)


def is_under(path, top):
    return path is not None and (path == top or path.startswith(top + "/"))


def make_comparison(test):
    """Returns a comparison that is false if a cell is missing."""
    return lambda *cells: None not in cells and test(*cells)


# Conditions for ctprof, and the same in Python.
CONDITIONS = {
    'pcomm =~ "^(work|init)"': lambda t: re.search("^(work|init)", value(t, "pcomm")) is not None,
    'cgroup under "/ctp.slice"': lambda t: is_under(value(t, "cgroup"), "/ctp.slice"),
    'cgroup under "/ctp"': lambda t: is_under(value(t, "cgroup"), "/ctp"),
    "tid == tgid": lambda t: t["tid"] == t["tgid"],
    "nice < 0": lambda t: make_comparison(lambda nice: nice < 0)(value(t, "nice")),
    '!(state == "S") || voluntary_csw > 10 && nice >= 0':
        lambda t: value(t, "state") != "S" or make_comparison(lambda n: n > 10)(value(t, "voluntary_csw")) and make_comparison(lambda n: n >= 0)(value(t, "nice")),
    "run_time_ns / timeslices > 1000000":
        lambda t: make_comparison(lambda run, slices: slices and Fraction(run, slices) > 1000000)(value(t, "run_time_ns"), value(t, "timeslices")),
    "core_forceidle_sum? == 0": lambda t: (value(t, "core_forceidle_sum") or 0) == 0,
}


class WhereConditions(unittest.TestCase):
    longMessage = False

    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.paths = [os.path.join(scratch.name, f"{kernel}.ctprof.zst") for kernel in ("6.12", "6.18")]
        for kernel, path in zip(("6.12", "6.18"), self.paths):
            harness.capture_tree(kernel, path)

    def groups(self, side, axis, keep):
        return Groups(self.paths[side], axis, self.paths, keep)

    def test_selected_threads(self):
        compared_values = 0
        for condition, keep in CONDITIONS.items():
            for axis in AXES:
                with self.subTest(condition=condition, axis=axis):
                    expected = [self.groups(side, axis, keep) for side in range(2)]
                    report = report_of("compare", "--lifetime", *self.paths, "--group-by", axis, "--where", condition)
                    both = set(expected[0].groups) & set(expected[1].groups)
                    self.assertEqual({group_of(row) for row in report["rows"]}, both)
                    for name, mine, other in (("only_baseline", 0, 1), ("only_candidate", 1, 0)):
                        expected_only_here = {group_of(row) for row in report[name] if row["threads"]}
                        self.assertEqual(expected_only_here, set(expected[mine].groups) - set(expected[other].groups))
                    for row in report["rows"]:
                        for side, word in enumerate(("baseline", "candidate")):
                            figure, _ = expected[side].groups[group_of(row)].get(row["metric"], (None, None))
                            self.assertFalse(differs(figure, row[word]), f"{row}: {word} is not {figure}")
                            compared_values += 1
        self.assertGreater(compared_values, 1000)

    def test_selected_groups(self):
        for axis in AXES:
            with self.subTest(axis=axis):
                sides = [self.groups(side, axis, None) for side in range(2)]
                large = {group for side in sides for group, size in side.sizes.items() if size >= 2}
                report = report_of("compare", "--lifetime", *self.paths, "--group-by", axis, "--where", "threads >= 2")
                groups_in_report = {group_of(row) for row in report["rows"] + report["only_baseline"] + report["only_candidate"]}
                self.assertEqual(groups_in_report, large)

    def test_fail_on_lists_failing_rows(self):
        whole = report_of("compare", "--lifetime", *self.paths)["rows"]
        for condition, holds in {
            "run_time_ns.pct > 5": lambda row: row["metric"] == "run_time_ns" and row["pct"] is not None and row["pct"] * 100 > 5,
            'nr_migrations.delta < 0 && group =~ "^c"':
                lambda row: row["metric"] == "nr_migrations" and row["delta"] < 0 and row["group"].startswith("c"),
        }.items():
            with self.subTest(condition=condition):
                finished = harness.run("compare", "--lifetime", *self.paths, "--format", "json", "--fail-on", condition)
                expected = [row for row in whole if holds(row)]
                self.assertEqual(finished.returncode, 1 if expected else 0)
                self.assertEqual(json.loads(finished.stdout)["failed"], expected)
                self.assertTrue(expected)

    def test_derived_metric(self):
        rows = report_of("show", self.paths[0], "--derive", "mine = run_time_ns / (run_time_ns + wait_time_ns)")["rows"]
        figures = {(row["group"], row["metric"]): row for row in rows}
        for (group, metric), row in figures.items():
            if metric == "mine":
                registered = figures[group, "cpu_efficiency"]
                self.assertEqual((row["value"], row["unit"], row["section"]), (registered["value"], registered["unit"], "derived"))


if __name__ == "__main__":
    harness.main()
