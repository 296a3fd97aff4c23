#!/usr/bin/python3
"""Checks that `show` prints the values of a cgroup or of the host from its row in the file. Each recorded cgroup is a group of its own."""

import json
import os
import unittest
from fractions import Fraction

import file_json
import harness
import patterns
from file_json import NO_BOUND, Gap


def convert_to_shown(rule, cell):
    """Returns a cell in the form of the JSON for a group with one member."""
    if rule == "MaxRatio":  # stored in hundredths
        return Fraction(cell, 100)
    if rule in ("LimitMax", "FloorMin") and cell == NO_BOUND:
        return "max"
    if rule.startswith("Mode"):
        return {"value": cell.decode() if isinstance(cell, bytes) else cell, "count": 1, "total": 1}
    return cell


class ShownCgroups(unittest.TestCase):
    longMessage = False

    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.path = os.path.join(scratch.name, "shown.ctprof.zst")

    def read_shown(self, kernel, *words):
        """Returns the file, and a map group -> metric -> value."""
        harness.capture_tree(kernel, self.path)
        finished = harness.run("show", self.path, "--format", "json", "--limit", "0", *words)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        groups = {}
        for row in json.loads(finished.stdout)["rows"]:
            groups.setdefault(row["group"], {})[row["metric"]] = row["value"]
        return file_json.load(self.path), groups

    def wrong(self, file, row, shown):
        """Returns the metrics whose value in the row differs from the one shown."""
        for name, cell in row.items():
            if isinstance(cell, Gap):
                continue
            expected, found = convert_to_shown(file.metrics[name]["rule"], cell), shown.get(name)
            if isinstance(expected, Fraction):
                found = None if found is None else round(Fraction(found), 6)
            if found != expected:
                yield f"{name} is {found!r}, not {expected!r}"

    def test_cgroups(self):
        for kernel in ("5.10", "6.12", "7.2"):
            with self.subTest(kernel=kernel):
                file, groups = self.read_shown(kernel, "--group-by", "cgroup")
                keys = patterns.cgroup_keys(set(file.cgroups))
                self.assertEqual(len(set(keys.values())), len(file.cgroups), "two cgroups in one group")
                for path, row in file.cgroups.items():
                    own = {name: cell for name, cell in row.items() if name.startswith("cgroup.")}
                    self.assertEqual(list(self.wrong(file, own, groups[keys[path]])), [], path)

    def test_the_host(self):
        for kernel in ("5.10", "6.12", "6.18-scx", "7.2"):
            with self.subTest(kernel=kernel):
                file, groups = self.read_shown(kernel)
                self.assertEqual(list(self.wrong(file, file.host, groups["host"])), [])


if __name__ == "__main__":
    harness.main()
