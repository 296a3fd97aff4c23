#!/usr/bin/python3
"""Captures a recorded tree with every single plugin, every pair, and all plugins: the identities of threads are complete, and no plugin warns
about a metric of another one."""

import itertools
import json
import os
import unittest

import file_json
import harness
import plain_reader

IDENTITY = ["tid", "tgid", "pcomm", "comm", "cgroup", "start_time_clock_ticks"]
KERNEL = "6.12"
PROCESS = 158  # a process of that tree with fourteen threads


def plugins():
    finished = harness.run("plugins", "--format", "json")
    assert finished.returncode == 0, finished.stderr
    return sorted(plugin["name"] for plugin in json.loads(finished.stdout)["plugins"])


def subsets(names):
    return [*itertools.combinations(names, 1), *itertools.combinations(names, 2), tuple(names)]


class Case(unittest.TestCase):
    """ROOT is the captured tree, and OPTIONS are the options of ctprof for it."""

    longMessage = False
    ROOT, OPTIONS = "/", ()

    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.directory = scratch.name
        self.tree = plain_reader.Tree(self.ROOT)

    def identities(self, pid):
        rows = {(tgid, tid): plain_reader.read_thread(self.tree, tgid, tid) for tgid, tid in self.tree.threads() if tgid == pid}
        return {key: {name: row[name] for name in IDENTITY} for key, row in rows.items()}

    def capture(self, subset):
        path = os.path.join(self.directory, "-".join(subset) + ".ctprof.zst")
        return path, harness.capture(path, before=(*self.OPTIONS, "--plugins", ",".join(subset)))

    def foreign_warnings(self, lines, subset, metrics):
        """Returns the lines that are neither about a plugin of the subset nor about a metric in the file."""
        speakers = [*(f"ctprof: {name}: " for name in subset), *(f"ctprof: without {name}" for name in metrics)]
        return [line for line in lines if not line.startswith(tuple(speakers))]

    def check(self, subset, expected, pid):
        path, finished = self.capture(subset)
        captured = file_json.load(path)
        self.assertEqual(list(captured.faults()), [])
        found = {key: {name: row[name] for name in IDENTITY} for key, row in captured.threads.items() if key[0] == pid}
        self.assertEqual(found, expected, "other threads, or with other names")
        self.assertIn(next(iter(expected.values()))["cgroup"].decode(), captured.cgroups)
        self.assertEqual(self.foreign_warnings(finished.stderr.splitlines(), subset, captured.metrics), [])
        filled_by = {metric.get("filled_by") for metric in captured.metrics.values()} - {None, ""}
        self.assertLessEqual(filled_by, set(subset) | {"core", "host"}, "filled by a plugin that was not requested")
        self.check_silent("show", path, "--group-by", "comm-exact")
        self.check_silent("compare", "--lifetime", path, path)

    def check_silent(self, *words):
        finished = harness.run(*words)
        self.assertEqual((finished.returncode, finished.stderr), (0, ""), f"{words} gave {finished.returncode}: {finished.stderr}")

    def check_all(self, expected, pid):
        for subset in subsets(plugins()):
            with self.subTest(plugins=",".join(subset)):
                self.check(subset, expected, pid)


class Subsets(Case):
    ROOT = harness.fixture(KERNEL)
    OPTIONS = ("--rootfs", ROOT)

    def test_subsets(self):
        expected = self.identities(PROCESS)
        self.assertGreater(len(expected), 1)
        self.check_all(expected, PROCESS)


if __name__ == "__main__":
    harness.main()
