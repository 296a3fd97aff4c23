#!/usr/bin/python3
"""The skew that a capture tells: all was read within it, and it is no longer than the reading."""

import json
import os
import unittest

import file_json
import harness


class Skew(unittest.TestCase):
    def captured(self, *plugins):
        """What the capture said, and its file."""
        with harness.scratch() as directory:
            path = os.path.join(directory, "a.ctprof.zst")
            said = harness.run(*plugins, "capture", "-o", path, "--format", "json").stdout
            return json.loads(said), file_json.load(path)

    def check(self, *plugins):
        said, file = self.captured(*plugins)
        read_at = file.document["read_at"]
        self.assertEqual(said["skew_ns"], file.document["ctprof"]["skew_ns"])
        self.assertEqual(len(read_at), said["threads"])
        self.assertEqual(said["thread_skew_ns"], file.document["ctprof"]["thread_skew_ns"])
        self.assertLess(max(read_at) - min(read_at), said["thread_skew_ns"])
        self.assertLessEqual(said["thread_skew_ns"], said["skew_ns"])
        self.assertLess(said["skew_ns"], said["collect_ns"])
        sources = file.document["ctprof"]["sources"]
        first = min(source["start_ns"] for source in sources if source["wall_ns"])
        last = max(source["start_ns"] + source["wall_ns"] for source in sources)
        self.assertLessEqual(last - first, said["skew_ns"])

    def test_by_files(self):
        self.check("--plugins=procfs-sched")

    def test_by_what_is_best_here(self):
        self.check()


if __name__ == "__main__":
    harness.main()
