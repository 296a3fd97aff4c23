"""Values of the rows of an entity of a plugin, for tests on recorded trees."""

import json
import os
import shutil
import unittest

import harness


def copy_tree(root):
    """Copies a recorded tree to `root`. Returns a function that writes a file of the copy: write(path, text). All copies are of the same boot."""
    shutil.copytree(harness.fixture("6.18"), root)

    def write(path, text):
        target = os.path.join(root, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8") as out:
            out.write(text)

    write("proc/sys/kernel/random/boot_id", "7b8e1c9a-0000-4000-8000-000000000001\n")
    return write


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
