#!/usr/bin/python3
"""Captures under unusual conditions: another PID namespace, the /proc of another namespace, a live tree under --rootfs, a process without its
leader."""

import os
import platform
import subprocess
import sys
import unittest

import file_json
import harness
import plain_reader

SYS_EXIT = {"x86_64": 60, "aarch64": 93}

# Only its main thread exits; the other thread continues.
PROCESS_WITHOUT_LEADER = """
import ctypes, sys, threading, time
def stay():
    time.sleep(0.2)
    print("ready", flush=True)
    sys.stdin.read()
threading.Thread(target=stay).start()
ctypes.CDLL(None).syscall({})
"""


def affinities_by_status(file):
    """Yields (thread, affinity in the file, affinity in its status) where the two differ. Kernel threads are used because their affinity is stable."""
    tree = plain_reader.Tree("/")
    for (tgid, tid), row in file.threads.items():
        status = tree.read(f"{tgid}/task/{tid}/status")
        if row["nice"] != file_json.Gap("ThreadGone") and isinstance(status, bytes) and b"\nKthread:\t1" in status:
            values = plain_reader.key_values(status)
            expected = plain_reader.cpu_list(values["Cpus_allowed_list"])
            if row["cpu_affinity"] != expected:
                yield row["comm"], row["cpu_affinity"], expected


class Places(unittest.TestCase):
    longMessage = False

    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.directory = scratch.name
        self.path = os.path.join(scratch.name, "places.ctprof.zst")

    def capture_in_namespaces(self, options, *script):
        """Runs shell lines in new namespaces. Skips the test where they are not permitted."""
        harness.needs_namespaces(self, options)
        finished = subprocess.run(["unshare", *options, "sh", "-ec", "\n".join(script)], capture_output=True, text=True, check=False,
                                  timeout=harness.TIMEOUT, cwd=self.directory)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        file = file_json.load(self.path)
        self.assertEqual(file.faults(), [])
        return finished.stdout, file

    def test_own_pid_namespace(self):
        listed, file = self.capture_in_namespaces(["-pf", "--mount-proc"], "sleep 30 & ls -d /proc/[0-9]*/task/*",
                                                  f"{harness.CTPROF} -q capture -o {self.path}")
        tids = {int(path.split("/")[4]) for path in listed.split()}
        self.assertEqual(tids - {tid for _, tid in file.threads}, set(), "existing threads are missing in the file")
        self.assertLess(len(file.threads), 10, "threads of another namespace")
        self.assertIn(b"sleep", {row["comm"] for row in file.threads.values()})

    def test_the_proc_of_another_pid_namespace(self):
        """Thread ids of that /proc belong to another namespace, so ctprof must not pass them to system calls."""
        _, file = self.capture_in_namespaces(["-pf"], f"{harness.CTPROF} -q capture -o {self.path}")
        self.assertGreater(len(file.threads), 10)
        self.assertEqual(list(affinities_by_status(file)), [], "affinities of other threads")

    def test_a_live_tree_under_rootfs(self):
        _, file = self.capture_in_namespaces(
            ["-m"], "mkdir -p root/proc root/sys", "mount --rbind /proc root/proc", "mount --rbind /sys root/sys",
            f"{harness.CTPROF} -q --rootfs root capture -o {self.path}")
        self.assertTrue(file.document["ctprof"]["live"])
        self.assertIn((os.getpid(), os.getpid()), file.threads)
        self.assertEqual(list(affinities_by_status(file)), [], "affinities of other threads")

    def test_a_process_whose_leader_has_exited(self):
        number = SYS_EXIT.get(platform.machine())
        if number is None:
            self.skipTest("the number of exit(2) is unknown on this architecture")
        process = subprocess.Popen([sys.executable, "-c", PROCESS_WITHOUT_LEADER.format(f"{number}, 0")], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        harness.capture(self.path)
        file = file_json.load(self.path)
        states = {tid == tgid: row["state"] for (tgid, tid), row in file.threads.items() if tgid == process.pid}
        self.assertEqual(states, {True: b"Z", False: b"S"})
        # from a thread that is alive: the leader no longer has memory
        self.assertGreater(file.processes[process.pid]["process.smaps_rollup"]["Anonymous"], 0)


if __name__ == "__main__":
    harness.main()
