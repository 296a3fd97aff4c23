#!/usr/bin/python3
"""SIGKILL at any instant: no half file under the final name, no BPF program or link of ours, and nobody is left stopped.

TEST_ROUNDS says how often."""

import json
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
from recording import Window, harness, soon  # noqa: E402

ROUNDS = int(os.environ.get("TEST_ROUNDS", "20"))


def objects(kind):
    """Ids of BPF programs or links that are loaded, by bpftool; None where it cannot tell."""
    done = subprocess.run(["bpftool", "--json", kind, "show"], check=False, capture_output=True)
    return {entry["id"]: entry.get("name", entry.get("prog_id")) for entry in json.loads(done.stdout)} if done.returncode == 0 else None


def stopped():
    """Processes in state T or t."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                if file.read().rpartition(b")")[2].split()[0] in (b"T", b"t"):
                    found.add(int(pid))
        except OSError:
            pass
    return found


class Killed(unittest.TestCase):
    def test_nothing_is_left(self):
        if objects("prog") is None:
            self.skipTest("needs bpftool, and leave to use it")
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
            before = {kind: set(objects(kind)) for kind in ("prog", "link")}
            process = subprocess.Popen(recording.command("-q", "-d", "200ms", "-o", file), stderr=subprocess.DEVNULL)
            time.sleep(chance.uniform(0, 0.7))
            with_programs += recording.files_of_kind(process.pid, "bpf") > 0
            process.send_signal(signal.SIGKILL)
            process.wait()
            with self.subTest(f"round {number} of seed {seed}"):
                if file.exists():
                    Window(file)
                    whole += 1
                for kind, known in before.items():
                    self.assertTrue(soon(lambda kind=kind, known=known: not ours(kind, known)), told(kind, ours(kind, known)))
                self.assertNotIn(target.pid, stopped())
        print(f"{ROUNDS} rounds: {with_programs} with programs loaded, {whole} with a whole file", file=sys.stderr)
        self.assertGreater(with_programs, ROUNDS // 20, "too late or too early each time")


def ours(kind, known):
    """New ones that nobody has open: others may load theirs meanwhile, and a program that is ours has no process any more."""
    return {number: name for number, name in objects(kind).items() if number not in known and not has_process(kind, number)}


def told(kind, numbers):
    shown = [subprocess.run(["bpftool", kind, "show", "id", str(number)], check=False, capture_output=True, text=True).stdout for number in numbers]
    return f"{kind}: {' '.join(shown)}"


def has_process(kind, number):
    done = subprocess.run(["bpftool", "--json", kind, "show", "id", str(number)], check=False, capture_output=True)
    return done.returncode != 0 or bool(json.loads(done.stdout).get("pids"))


if __name__ == "__main__":
    harness.main()
