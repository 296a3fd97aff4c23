#!/usr/bin/python3
"""Computes the weights of functions and stacks by group independently from the files, for one window and for two."""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
import recording  # noqa: E402
from json_schema import Validator  # noqa: E402

CTPROF, STACKS_FILE, DEPTHS = os.environ["CTPROF"], os.environ["STACKS_FILE"], os.environ["DEPTHS"]
SEEDS = range(6)
TRUNCATED = ("[truncated]", "", None)


class File:
    """`weights`: group -> stack (a tuple of functions, leaf first) -> weight. `guessed`, `certain`: functions with a guessed frame, or with a certain one."""

    def __init__(self, path):
        lines = recording.read_lines(path)
        parts = collections.defaultdict(list)
        for line in lines:
            if line["kind"] == "stacks":
                parts[line["part"]].append(line)
        groups = [name for line in lines if line["kind"] == "table" and line["entity"] == "thread" for name in line["columns"]["pcomm"]]
        strings = [text for line in parts["strings"] for text in line["text"]]
        modules = [(os.path.basename(strings[path]), build) for line in parts["modules"] for path, build in zip(line["path"], line["build_id"])]
        self.guessed, self.certain = set(), set()
        self.stacks = [()]
        functions = [TRUNCATED] + [self._function(strings[name], modules[module], offset, guessed) for line in parts["frames"]
                                   for name, module, offset, guessed in zip(line["name"], line["module"], line["offset"], line["guessed"])]
        for line in parts["nodes"]:
            for parent, frame in zip(line["parent"], line["frame"]):
                self.stacks.append((functions[frame],) + self.stacks[parent])
        self.weights = collections.defaultdict(collections.Counter)
        for line in parts["weights"]:
            for row, node, weight in zip(line["row"], line["node"], line["weight"]):
                self.weights[groups[row]][self.stacks[node]] += weight

    def _function(self, name, module, offset, guessed):
        """Returns (name, file of the module, place); the place is (build id, offset) for a function without a name, else None."""
        function = (name, module[0], None) if name else (None, module[0], (module[1], offset))
        (self.guessed if guessed else self.certain).add(function)
        return function

    def functions(self, group):
        """Returns a map function -> [self, total]."""
        found = collections.defaultdict(lambda: [0, 0])
        for stack, weight in self.weights[group].items():
            if stack:
                found[stack[0]][0] += weight
            for function in set(stack):
                found[function][1] += weight
        return found


def report_of(*arguments):
    return json.loads(subprocess.run([CTPROF, *arguments, "--format", "json", "--no-thread-normalize"], check=True, capture_output=True).stdout)


def convert_to_json(function):
    """Returns the function as in JSON, which has no build id."""
    name, module, place = function
    return name, module, place and place[1]


def rank(sides):
    return abs(sides[-1] - sides[0] if len(sides) > 1 else sides[0])


class StacksTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.paths = [str(pathlib.Path(self.directory.name) / name) for name in ("before.zst", "after.zst")]

    def check(self, report, files, scales):
        command = "show" if len(files) == 1 else "compare"
        schema = json.loads(subprocess.run([CTPROF, command, "--json-schema"], check=True, capture_output=True).stdout)
        self.assertEqual(list(Validator(schema).problems(report)), [])
        stacks = report["stacks"]
        functions = [(one["name"], one["module"], one["offset"]) for one in stacks["functions"]]
        guessed = {convert_to_json(function) for file in files for function in file.guessed} - {convert_to_json(function) for file in files for function in file.certain}
        for one, function in zip(stacks["functions"], functions):
            self.assertEqual(one["guessed"], function in guessed, function)
        self.assertEqual({group["group"] for group in stacks["groups"]}, {name for file in files for name in file.weights})
        for group in stacks["groups"]:
            self.check_functions(group, functions, files, scales)
            self.check_stacks(group, functions, files, scales)
        ranks = [max((rank(row["self"]) for row in group["functions"]), default=0) if len(files) > 1 else group["weights"][0]
                 for group in stacks["groups"]]
        self.assertEqual(ranks, sorted(ranks, reverse=True))

    def check_functions(self, group, functions, files, scales):
        figures = [file.functions(group["group"]) for file in files]
        expected = collections.Counter()
        for function in set().union(*figures):
            of_sides = [[side[function][figure] * scale for side, scale in zip(figures, scales)] for figure in (0, 1)]
            if any(of_sides[1]):
                expected[convert_to_json(function), *map(round_all, of_sides)] += 1
        rows = [(functions[row["function"]], round_all(row["self"]), round_all(row["total"])) for row in group["functions"]]
        self.assertEqual(collections.Counter(rows), expected)
        order = [(rank(row["self"]), rank(row["total"])) for row in group["functions"]]
        self.assertEqual(order, sorted(order, reverse=True))
        whole = [sum(file.weights[group["group"]].values()) * scale for file, scale in zip(files, scales)]
        self.assertEqual(round_all(group["weights"]), round_all(whole))

    def check_stacks(self, group, functions, files, scales):
        expected = collections.Counter()
        for stack in set().union(*(file.weights[group["group"]] for file in files)):
            weights = [file.weights[group["group"]][stack] * scale for file, scale in zip(files, scales)]
            if any(weights):
                expected[tuple(map(convert_to_json, stack)), round_all(weights)] += 1
        rows = [(tuple(functions[one] for one in row["functions"]), round_all(row["weights"])) for row in group["stacks"]]
        self.assertEqual(collections.Counter(rows), expected)
        order = [rank(row["weights"]) for row in group["stacks"]]
        self.assertEqual(order, sorted(order, reverse=True))

    def test_all_figures(self):
        for seed in SEEDS:
            with self.subTest(seed=seed):
                subprocess.run([STACKS_FILE, *self.paths, str(seed)], check=True)
                files = [File(path) for path in self.paths]
                for path, file in zip(self.paths, files):
                    self.check(report_of("show", path), [file], [1])
                self.check(report_of("compare", *self.paths), files, [1 / 10, 1 / 20])

    def test_a_rule_of_a_third_party(self):
        subprocess.run([STACKS_FILE, *self.paths, "1", "depths_Mean"], check=True)
        file = File(self.paths[0])
        report = report_of("show", self.paths[0], "--metrics", "oncpu_stacks", "--plugin-path", os.path.dirname(DEPTHS))
        rows = {row["group"]: row["value"] for row in report["rows"]}
        self.assertEqual(rows.keys(), file.weights.keys())
        for group, weights in file.weights.items():
            self.assertAlmostEqual(rows[group], sum(len(stack) * weight for stack, weight in weights.items()) / sum(weights.values()))
        self.assertNotIn("stacks", report)
        without = report_of("show", self.paths[0], "--metrics", "oncpu_stacks")
        self.assertEqual({row["group"]: row["value"] for row in without["rows"]},
                         {group: sum(weights.values()) for group, weights in file.weights.items()})
        self.assertIn("rule depths_Mean is unknown in this version; StackSum replaces it for oncpu_stacks", without["notes"])
        self.assertIn("stacks", without)

    def test_stacks_of_a_single_section(self):
        subprocess.run([STACKS_FILE, *self.paths, "1"], check=True)
        text = subprocess.run([CTPROF, "show", self.paths[0], "--sections", "stacks"], check=True, capture_output=True, text=True).stdout
        self.assertIn("## stacks\n", text)
        self.assertIn("oncpu_stacks of program-", text)
        whole = subprocess.run([CTPROF, "show", self.paths[0], "--details"], check=True, capture_output=True, text=True).stdout
        self.assertNotIn("leaf ← caller", whole)
        self.assertIn("oncpu_stacks", whole)


def round_all(figures):
    return tuple(round(figure, 3) for figure in figures)


if __name__ == "__main__":
    unittest.main()
