#!/usr/bin/python3
"""Checks that one worker and two write the same bytes for one recorded tree, except for times, in both layouts."""

import os
import re
import shutil
import subprocess
import unittest

import harness

COPIES = 80  # of a process with fourteen threads: more rows than a batch, which has at most 1,024
BATCH = 1024
FIRST_COPY = 10000

# Keys whose values depend on the time and speed of the capture, and on the user.
TIMES = re.compile(rb'"(?:captured_at_unix_ns|wall_unix_ns|monotonic_ns|cpu_time_ns|start_ns|wall_ns|busy_ns|longest_stop_ns|thread_skew_ns|skew_ns)":\d+'
                   rb'|"(?:own_threads|read_at)":\[[0-9,]*\]'
                   rb'|"kind":"end","lines":\d+,"bytes":\d+')  # the number of digits of a time varies
LAYOUTS = ("rows", "columns")


def link_process(proc, old, new):
    """Creates a second process with the same files as `old` under another number."""
    for directory, _, names in os.walk(os.path.join(proc, str(old))):
        part = os.path.relpath(directory, os.path.join(proc, str(old)))
        target = os.path.join(proc, str(new), part.replace(f"task/{old}", f"task/{new}"))
        os.makedirs(target, exist_ok=True)
        for name in names:
            os.link(os.path.join(directory, name), os.path.join(target, name))


def large_tree(directory):
    """Returns a recorded tree in which one process is repeated many times."""
    root = os.path.join(directory, "root")
    shutil.copytree(harness.fixture("6.18"), root)
    for i in range(COPIES):
        link_process(os.path.join(root, "proc"), 151, FIRST_COPY + i)
    return root


def bytes_of(path):
    """Returns the bytes of the file's JSON, without times."""
    return TIMES.sub(b"a time", subprocess.run(["zstd", "-dcq", path], capture_output=True, check=True).stdout)


class Jobs(unittest.TestCase):
    longMessage = False

    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.directory = scratch.name

    def capture_with_options(self, root, name, *words):
        path = os.path.join(self.directory, name)
        harness.capture(path, *words, before=("--rootfs", root))
        return bytes_of(path)

    def assert_same(self, first, second):
        if first != second:
            at = len(os.path.commonprefix([first, second]))
            start = max(0, at - 100)
            self.fail(f"the first difference:\n{first[start:at + 100]!r}\n{second[start:at + 100]!r}")

    def test_one_and_two_workers(self):
        root = large_tree(self.directory)
        for layout in LAYOUTS:
            with self.subTest(layout):
                one, two, three = (self.capture_with_options(root, f"{jobs}.ctprof.zst", "--layout", layout, "--jobs", str(jobs)) for jobs in (1, 2, 3))
                self.assertGreater(self.threads_in(one), BATCH)
                self.assert_same(one, two)
                self.assert_same(one, three)

    def threads_in(self, text):
        columns = re.findall(rb'"entity":"thread".*?"tid":\[([0-9,]*)\]', text)
        return sum(len(column.split(b",")) for column in columns) if columns else text.count(b'"tid":')

    def test_two_captures_are_equal(self):
        for kernel in harness.kernels():
            for layout in LAYOUTS:
                with self.subTest(kernel=kernel, layout=layout):
                    root = harness.fixture(kernel)
                    first = self.capture_with_options(root, "a.ctprof.zst", "--layout", layout)
                    self.assert_same(first, self.capture_with_options(root, "b.ctprof.zst", "--layout", layout, "--jobs", "2"))

    def test_exports_do_not_depend_on_workers(self):
        """Exports of one capture are identical regardless of the number of workers."""
        source = os.path.join(self.directory, "source.ctprof.zst")
        harness.capture(source, before=("--rootfs", large_tree(self.directory)))
        for form in ("columns", "ktstr"):
            with self.subTest(form):
                made = []
                for jobs in ("1", "2", "3"):
                    path = os.path.join(self.directory, f"{form}{jobs}.ctprof.zst")
                    finished = harness.run("export", source, "--to", form, "-o", path, "--jobs", jobs)
                    self.assertEqual(finished.returncode, 0, finished.stderr)
                    with open(path, "rb") as file:
                        made.append(file.read())
                self.assertEqual(made[0], made[1])
                self.assertEqual(made[0], made[2])


if __name__ == "__main__":
    harness.main()
