"""Values of the rows of an entity of a plugin, for tests on recorded trees."""

import json
import unittest

import harness


class EntityCase(unittest.TestCase):
    def report(self, entity, *words):
        finished = harness.run(*words, "--entity", entity, "--format", "json")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return json.loads(finished.stdout)

    def values(self, entity, *words):
        """Returns the values that `show` prints: group -> metric -> value."""
        rows = {}
        for row in self.report(entity, "show", *words)["rows"]:
            if row["value"] is not None:
                rows.setdefault(row["group"], {})[row["metric"]] = row["value"]
        return rows

    def assert_same(self, values, expected):
        self.assertEqual(set(values), set(expected))
        for group, of_group in expected.items():
            self.assertEqual(set(values[group]), set(of_group), group)
            for metric, value in of_group.items():
                self.assertAlmostEqual(values[group][metric], value, delta=1e-9 * max(1, value), msg=f"{metric} of {group}")
