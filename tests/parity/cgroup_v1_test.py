#!/usr/bin/python3
"""Checks the rows of the entity `cgroup_v1_cpu` on recorded trees: the cpu controller in a v1 hierarchy beside a v2 hierarchy, without one,
and in the v2 hierarchy."""

import json
import os
import shutil
import unittest

import harness
from entity_case import EntityCase, copy_tree

SECOND = 10**9
# Path: quota and period in us, then periods, throttled periods and throttled ns, at the opening and at the end.
GROUPS = {
    "/": (-1, 100000, (0, 0, 0), (0, 0, 0)),
    "/hunt": (20000, 100000, (5, 4, SECOND), (45, 43, 4 * SECOND)),
    "/hunt/idle": (50000, 100000, (0, 0, 0), (0, 0, 0)),
    "/free": (-1, 100000, (0, 0, 0), (0, 0, 0)),
    "/was-limited": (-1, 100000, (7, 1, 1000), (7, 1, 1000)),
}
METRICS = ("cgroup_v1_cpu_periods", "cgroup_v1_cpu_throttled_periods", "cgroup_v1_cpu_throttled_ns")
LIMITED = ("/hunt", "/hunt/idle", "/was-limited")
PROCESSES = {1: "/", 151: "/hunt/idle"}


class CgroupV1(EntityCase):
    longMessage = False

    @classmethod
    def setUpClass(cls):
        scratch = harness.scratch()
        cls.addClassCleanup(scratch.cleanup)
        cls.directory = scratch.name

    def tree(self, name, hierarchy="cpu,cpuacct", has_v2=True, is_end=False):
        """Writes a tree. `hierarchy`: the names of the controllers of the v1 hierarchy; none: the tree has none."""
        root = os.path.join(self.directory, name)
        write = copy_tree(root)
        if not has_v2:
            shutil.rmtree(os.path.join(root, "sys/fs/cgroup"))
        if not hierarchy:
            return root
        for directory in list(os.walk(os.path.join(root, "proc"))):
            if "cgroup" in directory[2]:
                path = os.path.relpath(os.path.join(directory[0], "cgroup"), root)
                tgid = int(path.split("/")[1])
                v2 = "0::/\n" if has_v2 else ""
                write(path, f"5:memory:/\n4:{hierarchy}:{PROCESSES.get(tgid, '/free')}\n3:cpuset:/\n{v2}")
        for group, (quota, period, *counts) in GROUPS.items():
            place = f"sys/fs/cgroup/{hierarchy}{group.rstrip('/')}"
            write(f"{place}/cpu.cfs_quota_us", f"{quota}\n")
            write(f"{place}/cpu.cfs_period_us", f"{period}\n")
            periods, throttled, time = counts[is_end]
            write(f"{place}/cpu.stat", f"nr_periods {periods}\nnr_throttled {throttled}\nthrottled_time {time}\nnr_bursts 0\nburst_time 0\n")
        return root

    def capture(self, root):
        file = root + ".ctprof.zst"
        harness.capture(file, before=("--rootfs", root))
        return file

    def rows(self, file, *words):
        finished = harness.run("export", file, "--to", "ndjson", *words, "-o", "-")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return [json.loads(line) for line in finished.stdout.splitlines()]

    def cgroups(self, file):
        return self.rows(file, "--entity", "cgroup_v1_cpu")

    def cgroup_of_processes(self, file):
        return {int(row["id"]): row["process.cgroup_v1_cpu"] for row in self.rows(file, "--rows", "processes")}

    def assert_has_rows(self, file):
        rows = {row["cgroup_v1_cpu.path"]: row for row in self.cgroups(file)}
        self.assertEqual(set(rows), set(LIMITED))
        for path, row in rows.items():
            quota, period, counts, _ = GROUPS[path]
            self.assertEqual(row["cgroup_v1_cpu_quota_us"], quota if quota >= 0 else 2**64 - 1)
            self.assertEqual(row["cgroup_v1_cpu_period_us"], period)
            self.assertEqual(tuple(row[metric] for metric in METRICS), counts)
        of_processes = self.cgroup_of_processes(file)
        self.assertEqual({tgid: path for tgid, path in of_processes.items() if path != "/free"}, PROCESSES)

    def test_hybrid_host_has_rows_of_both_hierarchies(self):
        file = self.capture(self.tree("hybrid"))
        self.assert_has_rows(file)
        self.assertEqual([row["id"] for row in self.rows(file, "--rows", "cgroups")], ["/"])

    def test_host_without_v2_has_rows(self):
        self.assert_has_rows(self.capture(self.tree("v1", hierarchy="cpu", has_v2=False)))

    def test_host_with_only_v2_has_no_rows(self):
        file = self.capture(self.tree("v2", hierarchy=None))
        self.assertEqual(self.cgroups(file), [])
        self.assertEqual(set(self.cgroup_of_processes(file).values()), {None})
        finished = harness.run("--rootfs", os.path.join(self.directory, "v2"), "plugins")
        self.assertIn("no cgroup v1 hierarchy has the cpu controller", " ".join(finished.stdout.split()))

    def test_hierarchy_that_is_not_mounted_is_reported(self):
        root = self.tree("unmounted")
        shutil.rmtree(os.path.join(root, "sys/fs/cgroup/cpu,cpuacct"))
        finished = harness.run("--rootfs", root, "plugins")
        self.assertIn(f"the cgroup v1 hierarchy of the cpu controller is not at {root}/sys/fs/cgroup/cpu,cpuacct", " ".join(finished.stdout.split()))

    def test_links_are_not_followed(self):
        root = self.tree("links", hierarchy="cpu")
        hierarchy = os.path.join(root, "sys/fs/cgroup/cpu")
        os.symlink("hunt", os.path.join(hierarchy, "link"))
        self.assert_has_rows(self.capture(root))
        os.rename(hierarchy, hierarchy + "-elsewhere")
        os.symlink("cpu-elsewhere", hierarchy)
        shutil.copytree(root, root + "-2", symlinks=True)
        self.assertEqual(self.cgroups(self.capture(root + "-2")), [])

    def test_names_of_controllers_are_no_paths(self):
        root = self.tree("outside", hierarchy="cpu,/../../elsewhere")
        self.assertTrue(os.path.isfile(os.path.join(root, "sys/fs/elsewhere/hunt/cpu.stat")))
        os.makedirs(os.path.join(root, "sys/fs/cgroup/cpu,"), exist_ok=True)
        self.assertEqual(self.cgroups(self.capture(root)), [])

    def test_window_has_differences(self):
        before, after = (self.capture(self.tree(f"window-{is_end}", is_end=is_end)) for is_end in (False, True))
        window = self.values("cgroup_v1_cpu", f"{before}..{after}")
        self.assertEqual([window["/hunt"][metric] for metric in METRICS], [40, 39, 3 * SECOND])

    def test_processes_are_grouped_by_their_v1_cgroup(self):
        file = self.capture(self.tree("groups"))
        finished = harness.run("show", file, "--group-by", "process.cgroup_v1_cpu", "--metrics", "thread_count", "--columns", "group,value", "--sort-by", "name")
        groups = {line.split()[0] for line in finished.stdout.splitlines() if line.startswith("/")}
        self.assertEqual(groups, {"/", "/free", "/hunt/idle"}, finished.stdout + finished.stderr)

    def test_redaction_keeps_the_cgroup_of_processes(self):
        file = self.capture(self.tree("redacted"))
        target = os.path.join(self.directory, "target.ctprof.zst")
        finished = harness.run("export", file, "--to", "columns", "--redact", "-o", target)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        paths = {row["cgroup_v1_cpu.path"] for row in self.cgroups(target)}
        of_processes = set(self.cgroup_of_processes(target).values())
        self.assertFalse((paths | of_processes) & (GROUPS.keys() - {"/"}))
        self.assertEqual(len(paths & of_processes), 1)  # /hunt/idle


if __name__ == "__main__":
    unittest.main(verbosity=2)
