#!/usr/bin/python3
"""One worker and two give the same bytes of one recorded tree, times aside."""

import json
import os
import re
import shutil
import subprocess
import unittest

import harness

COPIES = 160  # of a process of fourteen threads: enough for several batches of rows, which are 1,024 at most
FIRST_COPY = 10000

# Keys of `ctprof` that tell when and how fast, not what; and who captured.
TIMES = re.compile(r"^(start|end|cpu_time_ns|own_threads|jobs|start_ns|wall_ns|busy_ns|longest_stop_ns|wall_unix_ns|monotonic_ns)$")


def link_process(proc, old, new):
    """A second process like `old`: the same files under another number."""
    for directory, _, names in os.walk(os.path.join(proc, str(old))):
        part = os.path.relpath(directory, os.path.join(proc, str(old)))
        target = os.path.join(proc, str(new), part.replace(f"task/{old}", f"task/{new}"))
        os.makedirs(target, exist_ok=True)
        for name in names:
            os.link(os.path.join(directory, name), os.path.join(target, name))


def large_tree(directory):
    """A recorded tree with one of its processes many times over."""
    root = os.path.join(directory, "root")
    shutil.copytree(harness.fixture("6.18"), root)
    for i in range(COPIES):
        link_process(os.path.join(root, "proc"), 151, FIRST_COPY + i)
    return root


def without_times(value):
    """The same with times and the like nulled, order kept."""
    if isinstance(value, dict):
        return {key: None if TIMES.match(key) else without_times(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_times(item) for item in value]
    return value


def text_of(path):
    """The file's JSON with times nulled, numbers as they were written, keys in the order of the file."""
    text = subprocess.run(["zstd", "-dcq", path], capture_output=True, check=True).stdout
    document = json.loads(text, parse_int=lambda digits: "number " + digits)
    document["captured_at_unix_ns"] = None
    document["read_at"] = None
    document["ctprof"] = without_times(document["ctprof"])
    return json.dumps(document, indent=0)


class Jobs(unittest.TestCase):
    longMessage = False

    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.directory = scratch.name

    def captured(self, root, name, *words):
        path = os.path.join(self.directory, name)
        harness.capture(path, *words, before=("--rootfs", root))
        return text_of(path)

    def assert_same(self, first, second):
        lines = zip(first.split("\n"), second.split("\n"))
        different = next((f"{a} and {b}" for a, b in lines if a != b), None)
        self.assertIsNone(different, f"the first difference: {different}")
        self.assertEqual(len(first), len(second))

    def test_one_and_two_workers(self):
        root = large_tree(self.directory)
        one, two, three = (self.captured(root, f"{jobs}.ctprof.zst", "--jobs", str(jobs)) for jobs in (1, 2, 3))
        self.assertGreater(one.count('"tid"'), 2048)
        self.assert_same(one, two)
        self.assert_same(one, three)

    def test_twice_the_same(self):
        for kernel in harness.kernels():
            with self.subTest(kernel=kernel):
                root = harness.fixture(kernel)
                self.assert_same(self.captured(root, "a.ctprof.zst"), self.captured(root, "b.ctprof.zst", "--jobs", "2"))


if __name__ == "__main__":
    harness.main()
