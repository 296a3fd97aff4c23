#!/usr/bin/python3
"""`ctprof record-tree`: the copied tree has the files that a capture reads, and captures of both trees have equal values.

Environment: CTPROF, FIXTURES, EXAMPLE_PLUGINS, PYTHON_MODULE (the directory of ctprof_testing). The recorded host is a tree, so the test is deterministic.
"""
import json
import os
import pathlib
import re
import stat
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.environ["PYTHON_MODULE"])
import ctprof_testing as testing  # noqa: E402

CTPROF = os.path.realpath(os.environ["CTPROF"])
INCLUDE = pathlib.Path(os.environ["PYTHON_MODULE"]).resolve().parent / "include"
FIXTURE = pathlib.Path(os.environ["FIXTURES"]) / "6.12"
# Metrics of threads, of processes and of the host, and of cgroups, which the core finds through the files `cgroup` of threads.
METRICS = "run_time_ns,voluntary_csw,wait_max,rchar,process.smaps_rollup,host.procs_running,host.psi.cpu.some.avg10,cgroup.cpu.usage_usec"


def files_of(tree):
    return {str(path.relative_to(tree)): path.read_bytes() for path in pathlib.Path(tree).rglob("*") if path.is_file()}


class RecordTree(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.place = pathlib.Path(directory.name)
        self.target = self.place / "tree"

    def record(self, *words, rootfs=FIXTURE):
        return subprocess.run([CTPROF, "--rootfs", str(rootfs), "record-tree", *map(str, words)], capture_output=True, text=True, check=False)

    def capture(self, tree):
        """Returns the cells of a tree by entity, row and metric."""
        file, rows = self.place / "test.ctprof.zst", self.place / "rows.ndjson"
        testing.run("--rootfs", tree, "capture", "-q", "--metrics", METRICS, "-o", file)
        testing.run("export", file, "-q", "--to", "ndjson", "--rows", "long", "-o", rows)
        return {(row["entity"], row["id"], row["metric"], row["key"]): testing.cell_of(row) for row in map(json.loads, rows.read_text().splitlines())}

    def test_captures_of_copy_and_original_are_equal(self):
        finished = self.record(self.target)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertRegex(finished.stderr, r"^ctprof: recorded \d+ files of 21 threads and 5 cgroups in ")
        original, copy = self.capture(FIXTURE), self.capture(self.target)
        self.assertGreater(len(copy), 100)
        self.assertEqual(copy, original)

    def test_files_are_copied_unchanged_and_only_the_owner_can_read_them(self):
        self.record(self.target, "-q")
        copied, original = files_of(self.target), files_of(FIXTURE)
        self.assertGreater(len(copied), 100)
        for path, content in copied.items():
            self.assertEqual(content, original[path], path)
        self.assertEqual(stat.S_IMODE(self.target.stat().st_mode), 0o700)

    def test_pid_selects_processes(self):
        self.record(self.target, "-q", "--pid", "1")
        self.assertEqual({path.name for path in (self.target / "proc").iterdir() if path.name.isdigit()}, {"1"})
        self.assertTrue((self.target / "sys/fs/cgroup/cpu.stat").exists())

    def test_sources_of_loaded_plugins_are_included(self):
        """The plugin `wchan` names /proc/<tgid>/task/<tid>/wchan; no metric names the file `secret`."""
        files = testing.make_tree({(7, 7): {"wchan": "do_wait", "secret": "text"}})
        for words, expected in (((), False), (("--plugin-path", os.environ["EXAMPLE_PLUGINS"]), True)):
            with self.subTest(words), testing.Tree(files) as tree:
                target = self.place / f"tree-{len(words)}"
                finished = self.record(target, *words, rootfs=tree.path)
                self.assertEqual(finished.returncode, 0, finished.stderr)
                self.assertEqual((target / "proc/7/task/7/wchan").exists(), expected)
                self.assertFalse((target / "proc/7/task/7/secret").exists())

    def test_hierarchies_of_cgroup_v1_are_included(self):
        files = testing.make_tree({(7, 7): {"cgroup": "4:cpu,cpuacct:/a\n3:memory:/\n0::/\n"}},
                                  {"sys/fs/cgroup/unified/cgroup.controllers": "", "sys/fs/cgroup/memory/a/memory.usage_in_bytes": "1",
                                   "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us": "20000\n",
                                   "sys/fs/cgroup/cpu,cpuacct/a/cpu.stat": "nr_periods 1\n", "sys/fs/cgroup/cpu,cpuacct/a/cpu.shares": "1024\n"})
        with testing.Tree(files) as tree:
            self.assertEqual(self.record(self.target, rootfs=tree.path).returncode, 0)
        self.assertEqual({path for path in files_of(self.target) if "cpu," in path or "memory" in path},
                         {"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us",
                          "sys/fs/cgroup/cpu,cpuacct/a/cpu.stat"})

    def files_with_source(self, kind, source):
        """Returns the recorded files of a tree, with a plugin whose metric names this source."""
        name = f"own{len(list(self.place.iterdir()))}"
        subprocess.run([CTPROF, "plugin", "new", name, "--lang", "c", "--source", kind], cwd=self.place, capture_output=True, check=True)
        place = self.place / name
        text = (place / f"{name}.c").read_text()
        (place / f"{name}.c").write_text(re.sub(r'\.source = "[^"]*"', f'.source = "{source}"', text))
        (place / "build").mkdir()
        subprocess.run(["gcc", "-shared", "-fPIC", "-I", INCLUDE, "-o", place / f"build/{name}.so", place / f"{name}.c"], check=True)
        files = testing.make_tree({(7, 7): {}}, {"proc/secret": "text", "secret": "text", "proc/7/task/7/secret": "text", "proc/7/secret": "text",
                                                 "sys/fs/cgroup/cgroup.controllers": "cpu", "sys/fs/cgroup/secret": "text"})
        with testing.Tree(files) as tree:
            finished = self.record(place / "tree", "--plugin-path", place / "build", rootfs=tree.path)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return {path for path in files_of(place / "tree") if path.endswith("secret")}

    def test_sources_name_files_of_each_kind(self):
        for kind, source, expected in (("thread", "/proc/<tgid>/task/<tid>/secret:key", "proc/7/task/7/secret"),
                                       ("process", "/proc/<tgid>/secret", "proc/7/secret"), ("host", "/proc/secret:field 2", "proc/secret"),
                                       ("cgroup", "<cgroup>/secret (max)", "sys/fs/cgroup/secret"), ("cgroup", "secret:key", "sys/fs/cgroup/secret"),
                                       ("thread", "a system call; else /proc/<tgid>/task/<tid>/secret:key", "proc/7/task/7/secret")):
            with self.subTest(source):
                self.assertEqual(self.files_with_source(kind, source), {expected})

    def test_sources_that_name_no_file_below_a_root_copy_nothing(self):
        for kind, source in (("thread", "/proc/<tgid>/task/<tid>/../secret"), ("host", "/proc/../secret"), ("host", "/proc//secret"),
                             ("host", "secret"), ("cgroup", "secret values of all threads"), ("cgroup", "<cgroup>/*/secret")):
            with self.subTest(source):
                self.assertEqual(self.files_with_source(kind, source), set())

    def test_invalid_arguments_are_one_message(self):
        self.target.mkdir()
        for words, message in {(): "missing DIR", (self.target,): f"creating '{self.target}': File exists",
                               (self.place / "none/tree",): "No such file or directory"}.items():
            finished = self.record(*words)
            self.assertEqual((finished.returncode, finished.stderr.count("\n")), (2, 1), finished.stderr)
            self.assertIn(message, finished.stderr)
        self.assertEqual(list(self.target.iterdir()), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
