#!/usr/bin/python3
"""Tests entities of plugins: their rows in files of both layouts, in reports, and the refusal of plugins that violate the contract.

Environment: CTPROF, FIXTURES; BAD_PLUGINS, the directory of the shared objects.
"""

import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
import harness  # noqa: E402

KERNEL = "6.12"
SOUND = "entity_sound"

# Plugins that are refused, with words of the reason.
REFUSED = {
    "entity_without_identity": "source 'rows' lists rows of the entity 'entity_without_identity' with 0 columns of the family identity; one to 3",
    "entity_invalid_name": "source 'rows' has the entity 'Entity!': a name is at most 32 lower case letters",
    "entity_builtin_name": "source 'rows' has the entity 'cgroup': a name is",
    "entity_null": "source 'rows' has NULL for entity",
    "entity_small": "the entity of source 'rows' is of size 8, but version 1 of the ABI needs at least 40",
    "entity_of_thread": "metric 'entity_of_thread_device' is about the entity of its source, but no source of an entity offers it",
}

# Plugins whose sources are refused, with words of the reason.
SOURCE_REFUSED = {
    "entity_unprefixed": "lists rows of the entity 'gadget', whose name must be 'entity_unprefixed' or begin with 'entity_unprefixed_'",
    "entity_unlisted": "fills rows of the entity 'entity_unlisted', which no loaded plugin lists",
    "entity_listed_twice": "lists rows of the entity 'entity_listed_twice', which the source 'rows' of 'entity_listed_twice' lists already",
}

# Plugins whose rows are discarded, with words of the message.
FAILS = {
    "entity_duplicate_row": "it listed two rows with entity_duplicate_row_device '0'",
    "entity_too_many_rows": "it listed more than 4096 rows",
    "entity_row_without_identity": "it listed a row without 'entity_row_without_identity_device'",
    "entity_fails": "the device is on fire",
}


class Entities(unittest.TestCase):
    longMessage = False

    def setUp(self):
        self.scratch = harness.scratch()
        self.addCleanup(self.scratch.cleanup)

    def path(self, name):
        return os.path.join(self.scratch.name, name)

    def capture(self, plugin, *words):
        """Captures a recorded tree with one more plugin, and returns the finished process and the file."""
        directory = pathlib.Path(self.path(plugin))
        if not directory.exists():
            directory.mkdir()
            (directory / f"{plugin}.so").symlink_to(pathlib.Path(os.environ["BAD_PLUGINS"]) / f"{plugin}.so")
        file = self.path(f"{plugin}.ctprof.zst")
        before = ("--plugin-path", str(directory), "--rootfs", harness.fixture(KERNEL))
        return harness.capture(file, "--force", *words, before=before), file

    def figures(self, *words):
        """Returns the groups that a report shows, each with its numbers by metric."""
        finished = harness.run(*words, "--format", "json")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        rows = {}
        for row in json.loads(finished.stdout)["rows"]:
            rows.setdefault(row["group"], {})[row["metric"]] = row
        return rows

    def assert_one_line(self, plugin, errors, words):
        lines = [line for line in errors.splitlines() if f"/{plugin}.so" in line]
        self.assertEqual(len(lines), 1, f"not exactly one line about {plugin}:\n{errors}")
        self.assertIn(words, lines[0])


class CorrectEntity(Entities):
    def test_rows_are_shown_from_both_layouts(self):
        for layout in ("rows", "columns"):
            with self.subTest(layout):
                finished, file = self.capture(SOUND, "--layout", layout)
                self.assertNotIn(f"{SOUND}.so", finished.stderr)
                rows = self.figures("show", file, "--entity", SOUND)
                self.assertEqual(list(rows), ["0", "1"])
                values = {name: {metric: row["value"] for metric, row in of_group.items()} for name, of_group in rows.items()}
                self.assertEqual(values["1"], {f"{SOUND}_value": 101, f"{SOUND}_sum": 202, f"{SOUND}_other": 8})

    def test_older_files_and_other_rows_are_unchanged(self):
        _, file = self.capture(SOUND)
        rows = self.figures("show", file)
        self.assertFalse(any(SOUND in metric for of_group in rows.values() for metric in of_group))

    def test_condition_selects_rows(self):
        _, file = self.capture(SOUND)
        self.assertEqual(list(self.figures("show", file, "--entity", SOUND, "--where", f"{SOUND}_device == 1")), ["1"])
        finished = harness.run("show", file, "--entity", SOUND, "--where", "pcomm == 'a'")
        self.assertEqual(finished.returncode, 2)

    def test_unknown_entity_is_an_error(self):
        _, file = self.capture(SOUND)
        for name, words in (("entity_soundd", "did you mean 'entity_sound'?"), ("cgroup", "use --group-by cgroup"), ("X", "no plugin can have")):
            finished = harness.run("show", file, "--entity", name)
            self.assertEqual(finished.returncode, 2)
            self.assertIn(words, finished.stderr)
        finished = harness.run("show", file, "--entity", SOUND, "--group-by", "pid")
        self.assertIn("omit --group-by", finished.stderr)

    def test_plugins_lists_the_entity(self):
        self.capture(SOUND)
        finished = harness.run("--plugin-path", self.path(SOUND), "plugins", "--format", "json")
        plugin = next(plugin for plugin in json.loads(finished.stdout)["plugins"] if plugin["name"] == SOUND)
        self.assertEqual(plugin["entities"], [{"name": SOUND, "description": "A row for tests."}])
        self.assertIn(f"--entity {SOUND}  A row for tests.", harness.run("--plugin-path", self.path(SOUND), "plugins").stdout)
        metrics = json.loads(harness.run("--plugin-path", self.path(SOUND), "metric-list", "--format", "json").stdout)["metrics"]
        self.assertIn((f"{SOUND}_value", SOUND), {(metric["name"], metric["entity"]) for metric in metrics})

    def test_rows_survive_another_layout(self):
        _, file = self.capture(SOUND)
        columns, rows = self.path("columns.ctprof.zst"), self.path("rows.ctprof.zst")
        for source, form, target in ((file, "columns", columns), (columns, "ktstr", rows)):
            self.assertEqual(harness.run("export", source, "--to", form, "-o", target).returncode, 0)
        expected = self.figures("show", file, "--entity", SOUND)
        for target in (columns, rows):
            self.assertEqual(self.figures("show", target, "--entity", SOUND), expected)

    def test_file_without_the_plugin_has_the_same_rows(self):
        _, file = self.capture(SOUND)
        document = json.loads(subprocess.run(["zstd", "-dcq", file], check=True, capture_output=True).stdout)
        self.assertIn(SOUND, document["entities"])
        names = [metric["name"] for metric in document["registry"]["metrics"]]
        self.assertFalse(any(name.startswith(SOUND) for name in names), "an older version refuses metrics of unknown entities there")


class RefusedEntities(Entities):
    def test_refused_plugin_is_one_line(self):
        for plugin, words in (REFUSED | SOURCE_REFUSED).items():
            with self.subTest(plugin):
                finished, _ = self.capture(plugin)
                self.assert_one_line(plugin, finished.stderr, words)

    def test_rows_of_a_failed_source_are_discarded(self):
        for plugin, words in FAILS.items():
            with self.subTest(plugin):
                finished, file = self.capture(plugin)
                self.assert_one_line(plugin, finished.stderr, words)
                self.assertEqual(self.figures("show", file, "--entity", plugin), {})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
