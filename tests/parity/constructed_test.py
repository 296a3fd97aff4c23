#!/usr/bin/python3
"""Checks captures of a modified recorded tree: file contents that no recorded kernel produced, written in the format of the kernel's
sources, and missing files.

Covers interrupt pressure above all, because no recorded kernel has it. Also checks by strace which files of the tree are opened.
"""

import collections
import os
import shutil
import unittest

import file_json
import harness
from file_json import Gap
from opened_files import opened_paths, capture_under_strace


class ConstructedTrees(unittest.TestCase):
    longMessage = False
    IRQ = "full avg10=1.5 avg60=99.99 avg300=100.00 total=18446744073709551615\n"

    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.root = os.path.join(scratch.name, "root")
        self.path = os.path.join(scratch.name, "made-up.ctprof.zst")
        shutil.copytree(harness.fixture("6.18"), self.root)

    def write(self, path, text):
        with open(os.path.join(self.root, path), "w", encoding="utf-8") as file:
            file.write(text)

    def capture_tree_copy(self):
        harness.capture(self.path, before=("--rootfs", self.root))
        file = file_json.load(self.path)
        self.assertEqual(file.faults(), [])
        return file

    def test_pressure_by_interrupts(self):
        for path in ("proc/pressure/irq", "sys/fs/cgroup/irq.pressure", "sys/fs/cgroup/ctp.slice/irq.pressure"):
            self.write(path, self.IRQ)
        file = self.capture_tree_copy()
        expected = {"avg10": 150, "avg60": 9999, "avg300": 10000, "total_usec": 2**64 - 1}
        for row, entity in ((file.host, "host"), (file.cgroups["/"], "cgroup"), (file.cgroups["/ctp.slice"], "cgroup")):
            for part, value in expected.items():
                self.assertEqual(row[f"{entity}.psi.irq.full.{part}"], value)
                self.assertEqual(row[f"{entity}.psi.irq.some.{part}"], Gap("NotApplicable"))
        self.assertEqual(file.cgroups["/ctp.slice/work.service"]["cgroup.psi.irq.full.total_usec"], Gap("Unsupported"))

    def test_no_pressure_at_all(self):
        """The kernel command line shows whether pressure is disabled or not compiled in."""
        shutil.rmtree(os.path.join(self.root, "proc/pressure"))
        for directory, _, names in os.walk(os.path.join(self.root, "sys/fs/cgroup")):
            for name in names:
                if name.endswith(".pressure"):
                    os.remove(os.path.join(directory, name))
        for options, gap in (("quiet psi=1\n", "Unsupported"), ("quiet\n", "Unsupported"), ("psi=1 psi=0 quiet\n", "SwitchedOff")):
            with self.subTest(options=options):
                self.write("proc/cmdline", options)
                file = self.capture_tree_copy()
                cells = [file.host["host.psi.io.full.avg10"], file.cgroups["/ctp.slice"]["cgroup.psi.io.full.avg10"]]
                self.assertEqual(cells, [Gap(gap)] * 2)
                self.assertEqual(file.host["host.psi.irq.some.avg10"], Gap("NotApplicable"))

    def test_limit_max_is_a_value(self):
        directory = "sys/fs/cgroup/ctp.slice/"
        for name in ("memory.max", "memory.high", "memory.low", "memory.min", "memory.swap.max", "pids.max"):
            self.write(directory + name, "max\n")
        os.remove(os.path.join(self.root, directory, "cpu.max"))
        file = self.capture_tree_copy()
        row = file.cgroups["/ctp.slice"]
        limits = [row[f"cgroup.{name}"] for name in ("memory.max", "memory.high", "memory.low", "memory.min", "memory.swap.max", "pids.max")]
        self.assertEqual(limits, [2**64 - 1] * len(limits))
        self.assertEqual(row["cgroup.cpu.max_quota_us"], Gap("Unsupported"), "the controller is there, the file was not recorded")
        written = file.document["cgroup_stats"]["/ctp.slice"]["memory"]
        self.assertEqual([written[name] for name in ("max", "high", "low", "min")], [None, None, 2**64 - 1, 2**64 - 1])

    def test_controller_that_the_parent_does_not_enable(self):
        service = "sys/fs/cgroup/ctp.slice/work.service/"
        self.write(service + "cgroup.controllers", "cpu pids\n")
        for name in os.listdir(os.path.join(self.root, service)):
            if name.startswith(("memory.", "io.stat")) and name != "memory.pressure":
                os.remove(os.path.join(self.root, service, name))
        path = "/ctp.slice/work.service"
        row = self.capture_tree_copy().cgroups[path]
        self.assertEqual({row[f"cgroup.memory.{name}"] for name in ("current", "max", "stat")}, {Gap("SwitchedOff")})
        self.assertEqual(row["cgroup.io.stat.rbytes"], Gap("SwitchedOff"))
        self.write(service + "cgroup.type", "threaded\n")
        self.assertEqual(self.capture_tree_copy().cgroups[path]["cgroup.memory.current"], Gap("NotApplicable"))

    def test_malformed_value_affects_only_its_own_cell(self):
        directory = "sys/fs/cgroup/ctp.slice/"
        self.write(directory + "cpu.stat", "usage_usec -1\nuser_usec 18446744073709551616\nsystem_usec 7\n")
        self.write(directory + "memory.stat", "anon\n")
        self.write(directory + "io.stat", "8:0 rbytes=x wbytes=2\n8:16 wbytes=3 cost.usage=nan\n")
        self.write("proc/pressure/cpu", "some avg10=abc avg60=1.00 avg300=655.36 total=\n")
        file = self.capture_tree_copy()
        row = file.cgroups["/ctp.slice"]
        self.assertEqual([row[f"cgroup.cpu.{name}_usec"] for name in ("usage", "user", "system")], [Gap("Malformed"), Gap("Malformed"), 7])
        self.assertEqual(row["cgroup.memory.stat"], Gap("Malformed"))
        self.assertEqual(row["cgroup.io.stat.rbytes"], Gap("Malformed"))
        self.assertEqual(row["cgroup.io.stat.wbytes"], {"8:0": 2, "8:16": 3})
        self.assertEqual([file.host[f"host.psi.cpu.some.{name}"] for name in ("avg10", "avg60", "avg300", "total_usec")],
                         [Gap("Malformed"), 100, Gap("Malformed"), Gap("Malformed")])
        self.assertEqual(file.host["host.psi.cpu.full.avg10"], Gap("Unsupported"))

    def test_host_without_proc_stat_still_has_an_identity(self):
        before = self.capture_tree_copy().document["host"]
        os.remove(os.path.join(self.root, "proc/stat"))
        file = self.capture_tree_copy()
        self.assertEqual(file.document["host"], before)
        self.assertEqual(file.host["host.cpu.user_ns"], Gap("Unsupported"))

    def test_links_are_not_followed(self):
        service = os.path.join(self.root, "sys/fs/cgroup/ctp.slice/work.service")
        os.rename(service, service + ".away")
        os.symlink("work.service.away", service)
        row = self.capture_tree_copy().cgroups["/ctp.slice/work.service"]
        self.assertIsInstance(row["cgroup.cpu.usage_usec"], Gap)

    def opened_below(self, directory, *words, plugins="cgroup,psi"):
        """Returns how often each file is opened. Leaves out cgroup.type: the lister opens it to find threaded cgroups."""
        log = capture_under_strace(self, self.path, "--jobs", "1", "--rootfs", self.root, *words, plugins=plugins)
        top = os.path.join(self.root, directory) + "/"
        return collections.Counter(path.removeprefix(top) for path in opened_paths(log)
                                   if path.startswith(top) and not path.endswith("/cgroup.type"))

    def test_only_requested_files_are_opened(self):
        opened = self.opened_below("sys/fs/cgroup/ctp.slice/work.service", "--metrics", "cgroup.pids.current,cgroup.psi.io.full.avg10")
        self.assertEqual(opened, {"pids.current": 1, "io.pressure": 1})

    def test_each_file_is_opened_once(self):
        opened = self.opened_below("sys/fs/cgroup/ctp.slice/work.service")
        self.assertEqual(opened.pop("memory.zswap.current", 0), 0, "opened a file that this kernel lacks")
        self.assertEqual(opened.pop("irq.pressure", 0), 0, "opened a file that this kernel lacks")
        self.assertEqual(set(opened.values()), {1})
        self.assertGreater(len(opened), 20)

    def opened_of_threads(self, *words):
        """Returns {file of a thread: how often each thread's copy is opened}. Probing opens additional files of the first thread of a process."""
        process = 151
        counts = self.opened_below(f"proc/{process}/task", *words, plugins="procfs-sched")
        tids = {name for name in os.listdir(os.path.join(self.root, f"proc/{process}/task")) if int(name) != process}
        self.assertGreater(len(tids), 10)
        names = {path.partition("/")[2] for path in counts if path.partition("/")[0] in tids} - {""}
        return {name: {counts[f"{tid}/{name}"] for tid in tids} for name in names}

    def test_one_metric_opens_only_identity_files_and_schedstat(self):
        self.assertEqual(self.opened_of_threads("--metrics", "run_time_ns"), {"stat": {1}, "schedstat": {1}})

    def test_each_file_of_a_thread_is_opened_once(self):
        self.assertEqual(self.opened_of_threads(), {name: {1} for name in ("stat", "status", "schedstat", "io", "sched")})


if __name__ == "__main__":
    harness.main()
