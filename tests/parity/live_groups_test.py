#!/usr/bin/python3
"""Checks `compare` on two captures of the live host against plain arithmetic on their rows: every group and metric, for all five groupings,
including those of cgroups and the host.

The test creates nested cgroups: one whose processes stay, one whose processes exit between the captures, and one that exists only in the
second capture.
"""

import contextlib
import json
import os
import subprocess
import unittest
from fractions import Fraction

import file_json
import harness
import patterns
import aggregation_test
from cgroups_test import cgroup, join, may_make_cgroups
from file_json import Gap
from aggregation_test import AXES, differs, number, reduce
from shown_cgroups_test import convert_to_shown

SPINS = ["sh", "-c", "echo ready; while :; do :; done"]


@contextlib.contextmanager
def running(command, directory, working_directory):
    process = subprocess.Popen(command, cwd=working_directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=lambda: join(directory))
    try:
        assert process.stdout.readline() == b"ready\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


# Derived metrics of the host: a counter, the share of another one that is subtracted, and that counter. They have no value if they are negative.
HOST_DERIVED = {"host.tcp.excess_retransmits": ("host.tcp.retransmitted_segments", Fraction(1, 100), "host.tcp.sent_segments"),
                "host.tcp.excess_failed_opens": ("host.tcp.failed_opens", Fraction(1, 10), "host.tcp.active_opens")}


def derived_values(row):
    values = {name: row[counter] - share * row[total] for name, (counter, share, total) in HOST_DERIVED.items()
              if not isinstance(row[counter], Gap) and not isinstance(row[total], Gap)}
    return {("host", name): value if value >= 0 else None for name, value in values.items()}


def value_of(rule, cells):
    """Returns the value as in JSON, or None if there is none."""
    values = [cell for cell in cells if not isinstance(cell, Gap)]
    if values and rule in ("MaxRatio", "LimitMax", "FloorMin"):
        return convert_to_shown(rule, min(values) if rule == "FloorMin" else max(values))
    return convert_to_shown(rule, values[0]) if len(values) == 1 else reduce(rule, values)


def group_values(file, entity, groups):
    """Returns a map (group, metric) -> value. `groups`: group -> rows."""
    rules = {name: metric["rule"] for name, metric in file.metrics.items() if metric["entity"] == entity and metric["family"] != "identity"}
    return {(group, name): value_of(rule, [row[name] for row in rows if name in row and row[name] != Gap("NotApplicable")])
            for group, rows in groups.items() for name, rule in rules.items()}


def wrong_rows(rows, sides):
    """Returns the rows of compare that do not follow from the values of the files."""
    for row in rows:
        before, after = (side.get((row["group"], row["metric"])) for side in sides)
        if differs(before, row["baseline"]) or differs(after, row["candidate"]):
            yield f"{row['group']} {row['metric']}: {row['baseline']} and {row['candidate']}, not {before} and {after}"
        elif number(before) is not None and number(after) is not None and differs(number(after) - number(before), row["delta"]):
            yield f"{row['group']} {row['metric']}: the difference is {row['delta']}, not {number(after) - number(before)}"


def make_captures(paths, working_directory):
    """Makes two captures, and changes the processes and cgroups between them."""
    sleepers = [os.environ["SLEEPERS"]]
    with contextlib.ExitStack() as stack:
        top = stack.enter_context(cgroup())
        outer, inner, late = top + b"/outer", top + b"/outer/inner", top + b"/outer/inner/late"
        for directory in (outer, inner):
            os.mkdir(directory)
        for command in (sleepers, SPINS):
            stack.enter_context(running(command, inner, working_directory))
        with running(sleepers, outer, working_directory):
            harness.capture(paths[0])
        os.mkdir(late)
        for command in (sleepers, SPINS):
            stack.enter_context(running(command, late, working_directory))
        harness.capture(paths[1])


class LiveGroups(aggregation_test.AggregationCase):
    @classmethod
    def setUpClass(cls):
        if not may_make_cgroups():
            raise unittest.SkipTest("needs a cgroup v2 hierarchy, and permission to create cgroups")
        scratch = harness.scratch()
        cls.addClassCleanup(scratch.cleanup)
        cls.paths = [os.path.join(scratch.name, f"{name}.ctprof.zst") for name in ("before", "after")]
        make_captures(cls.paths, scratch.name)

    def test_threads_and_processes(self):
        for axis in AXES:
            with self.subTest(axis=axis):
                comparison, _ = self.compare(self.paths, axis)
                self.assertTrue(any(row["delta"] for row in comparison["rows"]))

    def rows_of(self, prefix):
        finished = harness.run("compare", "--lifetime", *self.paths, "--group-by", "cgroup", "--format", "json", "--limit", "0")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return [row for row in json.loads(finished.stdout)["rows"] if row["metric"].startswith(prefix)]

    def test_cgroups(self):
        files = [file_json.load(path) for path in self.paths]
        keys = patterns.cgroup_keys({path for file in files for path in file.cgroups})
        sides = []
        for file in files:
            groups = {}
            for path, row in file.cgroups.items():
                groups.setdefault(keys[path], []).append(row)
            sides.append(group_values(file, "cgroup", groups))
        rows = self.rows_of("cgroup.")
        self.assertTrue(any(row["group"].endswith("/outer/inner") and row["delta"] for row in rows))
        self.assert_none(list(wrong_rows(rows, sides)))

    def test_the_host(self):
        files = [file_json.load(path) for path in self.paths]
        rows = self.rows_of("host.")
        self.assertGreater(len(rows), 0)
        self.assert_none(list(wrong_rows(rows, [group_values(file, "host", {"host": [file.host]}) | derived_values(file.host) for file in files])))


if __name__ == "__main__":
    harness.main()
