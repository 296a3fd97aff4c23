#!/usr/bin/python3
"""`export --to denet`: the output matches a schema that was made from output of denet, and its values equal those of the file.

Environment: CTPROF; WAITS, a program with threads that wait (waits.c)."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import recording  # noqa: E402
import offcpu_file  # noqa: E402
from recording import harness, run  # noqa: E402

import json_schema  # noqa: E402, in the directory of harness

SCHEMA = json.loads((pathlib.Path(__file__).parent / "denet_schema.json").read_text())


class Denet(recording.RecordingCase):
    def setUp(self):
        super().setUp()

    def run_export(self):
        return subprocess.run([harness.CTPROF, "export", self.file, "--to", "denet", "-o", "-"], capture_output=True, text=True, check=False)

    def test_the_values_equal_those_of_the_file(self):
        if os.geteuid() != 0:
            self.skipTest("needs permission to load BPF programs")
        finished = run("--recorders", "off-cpu", "-o", self.file, "--", os.environ["WAITS"], "turns", "1", "4")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        finished = self.run_export()
        self.assertEqual(finished.returncode, 0, finished.stderr)
        sample = json.loads(finished.stdout)
        self.assertEqual(json_schema.Validator(SCHEMA).problems(sample), [])
        # The schema must reject a sample without a member.
        del sample["ebpf"]["offcpu"]["thread_stats"]["1:1" if "1:1" in sample["ebpf"]["offcpu"]["thread_stats"] else
                                                     next(iter(sample["ebpf"]["offcpu"]["thread_stats"]))]["count"]
        self.assertNotEqual(json_schema.Validator(SCHEMA).problems(sample), [])
        self.compare(json.loads(finished.stdout)["ebpf"]["offcpu"])

    def compare(self, offcpu):
        threads = [thread for thread in offcpu_file.OffCpuFile(self.file).threads if thread.offcpu_count > 0]
        self.assertEqual(offcpu["total_time_ns"], sum(thread.offcpu_ns for thread in threads))
        self.assertEqual(offcpu["total_events"], sum(thread.offcpu_count for thread in threads))
        self.assertEqual(offcpu["avg_time_ns"], offcpu["total_time_ns"] // offcpu["total_events"])
        self.assertEqual(offcpu["max_time_ns"], max(thread.offcpu_max_ns for thread in threads))
        self.assertEqual(offcpu["min_time_ns"], min(thread.offcpu_min_ns for thread in threads))
        stats = offcpu["thread_stats"]
        self.assertEqual(set(stats), {f"{thread.tgid}:{thread.tid}" for thread in threads})
        for thread in threads:
            theirs = stats[f"{thread.tgid}:{thread.tid}"]
            if sum(other.tid == thread.tid for other in threads) == 1:
                self.assertEqual((theirs["total_time_ns"], theirs["count"], theirs["max_time_ns"], theirs["min_time_ns"]),
                                 (thread.offcpu_ns, thread.offcpu_count, thread.offcpu_max_ns, thread.offcpu_min_ns))
        top = offcpu["top_blocking_threads"]
        self.assertEqual(len(top), 10)
        longest = sorted((entry["total_time_ns"] for entry in stats.values()), reverse=True)[:10]
        self.assertEqual([round(entry["time_ms"] * 1e6) for entry in top], longest)
        for entry in top:
            self.assertAlmostEqual(entry["percentage"], entry["time_ms"] * 1e8 / offcpu["total_time_ns"], places=6)

    def test_a_file_without_waits_is_refused(self):
        finished = run("-d", "100ms", "-o", self.file, "--metrics", "run_time_ns")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        finished = self.run_export()
        self.assertEqual(finished.returncode, 2)
        self.assertIn("the file has no off-CPU times; record them with --recorders off-cpu", finished.stderr)


if __name__ == "__main__":
    unittest.main()
