#!/usr/bin/python3
"""SIGKILL at random times leaves no incomplete file under the final name, no BPF program or link, and no stopped process.

TEST_ROUNDS is the number of kills."""

import os
import pathlib
import random
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import recording  # noqa: E402
from recording import Window, harness, list_bpf_objects, wait_for  # noqa: E402

ROUNDS = int(os.environ.get("TEST_ROUNDS", "20"))


def list_stopped_processes():
    """Returns the processes in state T or t."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                if file.read().rpartition(b")")[2].split()[0] in (b"T", b"t"):
                    found.add(int(pid))
        except OSError:
            pass
    return found


class KilledRecordings(unittest.TestCase):
    def test_kill_leaves_nothing(self):
        if list_bpf_objects("prog") is None:
            self.skipTest("needs bpftool, and permission to use it")
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        target = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(target.communicate)
        self.addCleanup(target.kill)
        seed = random.randrange(2**32)
        chance = random.Random(seed)
        whole = with_programs = 0
        for number in range(ROUNDS):
            file = pathlib.Path(scratch.name) / f"{number}.zst"
            process = subprocess.Popen(recording.command("-q", "-d", "200ms", "-o", file), stderr=subprocess.DEVNULL)
            time.sleep(chance.uniform(0, 0.7))
            ours = {kind: recording.object_ids(process.pid, kind) for kind in ("prog", "link")}
            with_programs += bool(ours["prog"])
            process.send_signal(signal.SIGKILL)
            process.wait()
            with self.subTest(f"round {number} of seed {seed}"):
                if file.exists():
                    Window(file)
                    whole += 1
                for kind, ids in ours.items():
                    self.assertTrue(wait_for(lambda kind=kind, ids=ids: not ids & list_bpf_objects(kind).keys()), f"{kind}: {ids & list_bpf_objects(kind).keys()}")
                self.assertNotIn(target.pid, list_stopped_processes())
        print(f"{ROUNDS} rounds: {with_programs} with programs loaded, {whole} with a complete file", file=sys.stderr)
        self.assertGreater(with_programs, ROUNDS // 20, "too few kills hit the recording at the right time")


if __name__ == "__main__":
    harness.main()
