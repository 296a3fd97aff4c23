#!/usr/bin/python3
"""Cgroups without threads, in captures and windows: the usage of finished units, and cgroups that were removed and created again."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
import harness  # noqa: E402
import recording  # noqa: E402

USAGE = "cgroup.cpu.usage_usec"
BURN = "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done"  # some tenths of a second
MANY = 12_000


def hierarchy():
    """Returns the mount point of cgroup v2; None if there is none, or it is not writable."""
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        places = [line.split()[4] for line in mounts if " - cgroup2 " in line]
    return places[0] if places and os.access(places[0], os.W_OK) else None


def cgroups_in(path):
    """Reads the only block of a file with layout columns. Returns cgroups by path (cells, base, and whether it was created in the window), and the notes."""
    lines = recording.read_lines(path)
    found = {}
    for block in lines:
        if block["kind"] != "table" or block["entity"] != "cgroup":
            continue
        born = set(block.get("born", ()))
        for at, name in enumerate(block["columns"]["cgroup.path"]):
            cells = {metric: values[at] for metric, values in block["columns"].items()}
            cells["base"] = block.get("bases", {}).get(USAGE, [None] * (at + 1))[at]
            cells["born"] = block["first_row"] + at in born
            found[name] = cells
    notes = next((line["notes"] for line in lines if line["kind"] == "window"), [])
    return found, notes


class AllCgroups(unittest.TestCase):
    def setUp(self):
        if hierarchy() is None:
            self.skipTest("needs a cgroup v2 hierarchy that may be changed")
        self.scratch = harness.scratch()
        self.addCleanup(self.scratch.cleanup)
        self.file = os.path.join(self.scratch.name, "x.ctprof.zst")
        self.top = tempfile.mkdtemp(prefix="ctprof-test-", dir=hierarchy())
        self.name = "/" + os.path.basename(self.top)
        self.addCleanup(self.remove_all)

    def remove_all(self):
        for directory, _, _ in os.walk(self.top, topdown=False):
            os.rmdir(directory)

    def run_unit(self, *names):
        """Creates a cgroup and runs a process in it. Returns the CPU time that the kernel reports for the cgroup, in us."""
        place = os.path.join(self.top, *names)
        os.makedirs(place, exist_ok=True)
        subprocess.run(["sh", "-c", f'echo $$ >"$1/cgroup.procs"; {BURN}', "sh", place], check=True)
        with open(os.path.join(place, "cpu.stat"), encoding="ascii") as stat:
            return int(stat.readline().split()[1])

    def record(self, script):
        """Records while a shell runs the script, with the test's cgroup as $1. Returns the cgroups and notes of the window."""
        done = subprocess.run([harness.CTPROF, "record", "--no-sync", "-o", self.file, "--", "sh", "-c", script, "sh", self.top],
                              capture_output=True, text=True, timeout=harness.TIMEOUT, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return cgroups_in(self.file)

    def test_a_finished_unit(self):
        used = self.run_unit("slice", "done.service")
        harness.capture(self.file, "--layout", "columns")
        unit = cgroups_in(self.file)[0][f"{self.name}/slice/done.service"]
        self.assertEqual(unit[USAGE], used)
        self.assertEqual(unit["cgroup.id"], os.stat(os.path.join(self.top, "slice", "done.service")).st_ino)

    def test_rows_have_only_cgroups_with_threads(self):
        self.run_unit("done.service")
        harness.capture(self.file)
        text = subprocess.run(["zstd", "-dcq", self.file], check=True, capture_output=True).stdout
        self.assertNotIn(self.name, "".join(json.loads(text)["cgroup_stats"]))

    def test_a_cgroup_that_was_created_again(self):
        old = self.run_unit("again.service")
        self.run_unit("same.service")
        cgroups, notes = self.record(f'rmdir "$1/again.service"; mkdir "$1/again.service" "$1/new.service"; '
                                     f'sh -c \'echo $$ >"$1/again.service/cgroup.procs"; {BURN}\' sh "$1"')
        again, same, new = (cgroups[f"{self.name}/{unit}.service"] for unit in ("again", "same", "new"))
        self.assertTrue(again["born"])
        self.assertEqual(again["base"], 0)
        self.assertGreater(again[USAGE], 0)
        self.assertGreater(old, 0)
        self.assertTrue(new["born"])
        self.assertFalse(same["born"])
        self.assertEqual(same["base"], same[USAGE])
        self.assertTrue(any("removed while the window was open" in note for note in notes), notes)

    def test_more_cgroups_than_the_limit(self):
        """Many cgroups of one user neither delay a capture nor hide other cgroups."""
        os.mkdir(os.path.join(self.top, "user"))
        for number in range(MANY):
            os.mkdir(os.path.join(self.top, "user", str(number)))
        os.mkdir(os.path.join(self.top, "z.service"))
        done = harness.capture(self.file, "--layout", "columns")
        cgroups, _ = cgroups_in(self.file)
        self.assertLess(len(cgroups), MANY)
        self.assertIn(f"{self.name}/z.service", cgroups)
        self.assertNotIn("cgroup.id", cgroups["/"])
        self.assertIn("there are too many cgroups", done.stderr)


if __name__ == "__main__":
    harness.main()
