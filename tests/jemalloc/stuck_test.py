#!/usr/bin/python3
"""Tests that a file system without answers does not block a capture: its processes are Busy, a message names the mount, and all else is captured.

The file system is stuck_mount.py, in a new mount namespace. TEST_ROUNDS is the number of repetitions of each case."""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.append(os.path.join(HERE, "..", "parity"))
import concurrent_cases
import file_json
import harness
from harness import Helper

ROUNDS = int(os.environ.get("TEST_ROUNDS", "1"))
MAX_SECONDS = 40  # seconds for a capture on a busy machine; a blocked capture never ends
BUSY = file_json.Gap("Busy")
# The kernel caches the attributes of a file for a second.
CACHE_EXPIRY_S = 1.2


class Stuck(harness.Process):
    """A program in a namespace with the file system of stuck_mount.py at `mount`; `pid` is the pid of the program."""

    def __init__(self, directory, content, program, *words, hang_mode=""):
        self.mount = os.path.join(directory, "mnt")
        self.switch = os.path.join(directory, "content.stuck")
        self.hang_mode = hang_mode
        os.makedirs(self.mount, exist_ok=True)
        shutil.copy(content, os.path.join(directory, "content"))
        command = [sys.executable, os.path.join(HERE, "stuck_mount.py"), self.mount, os.path.join(directory, "content")]
        super().__init__([*command, program or os.path.join(self.mount, "file"), *words])

    def __enter__(self):
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.switch)
        super().__enter__()
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as children:
            self.target = int(children.read().split()[-1])
        return self

    def start_blocking(self):
        with open(self.switch + ".new", "w", encoding="ascii") as file:
            file.write(self.hang_mode)
        os.rename(self.switch + ".new", self.switch)
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        time.sleep(CACHE_EXPIRY_S)

    def children(self):
        """Returns the children of the target."""
        lists = pathlib.Path(f"/proc/{self.target}/task").glob("*/children")
        return "".join(path.read_text(encoding="ascii") for path in lists).split()

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(harness.TIMEOUT)
        self.process.stdin.close()
        self.process.stdout.close()


def can_mount():
    return os.geteuid() == 0 and os.path.exists("/dev/fuse") and subprocess.run(["unshare", "-m", "true"], check=False).returncode == 0


@unittest.skipUnless("HEAP_STATIC" in os.environ, "no HEAP_STATIC: the development files of jemalloc are missing")
@unittest.skipUnless(can_mount(), "needs root, /dev/fuse and mount namespaces")
class Captures(unittest.TestCase):
    def setUp(self):
        self.scratch = harness.scratch()
        self.addCleanup(self.scratch.cleanup)

    def capture(self, *pids, plugins, directory=None):
        """Returns the loaded file and the messages. Output goes to pipes, which an abandoned process must not keep open."""
        path = os.path.join(directory or self.scratch.name, "x.ctprof.zst")
        chosen = ["-p", ",".join(map(str, pids))] if pids else []
        words = [*plugins, "capture", "--no-sync", *chosen, "-o", path]
        start = time.monotonic()
        process = subprocess.Popen([harness.CTPROF, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            _, messages = process.communicate(timeout=MAX_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            self.fail("the capture hangs")
        self.assertEqual(process.returncode, 0, messages)
        self.assertLess(time.monotonic() - start, MAX_SECONDS)
        file = file_json.load(path)
        self.assertEqual(file.faults(), [])
        return file, messages.decode()

    @staticmethod
    def heaps(file, pid):
        return {tid: row["allocated_bytes"] for (tgid, tid), row in file.threads.items() if tgid == pid}

    def with_each_plugin(self, check):
        """Calls `check` with a directory and plugin options, for both plugins in parallel, because these captures mostly wait."""
        with ThreadPoolExecutor() as pool:
            for _ in range(ROUNDS):
                calls = [pool.submit(check, os.path.join(self.scratch.name, plugin), [f"--plugins={plugin},procfs-sched"])
                         for plugin in ("jemalloc-ptrace", "task-iter")]
                for call in calls:
                    call.result()

    def check_program_on_mount(self, hang_mode):
        def check(directory, plugins):
            with Stuck(directory, os.environ["HEAP_STATIC"], None, "3", hang_mode=hang_mode) as stuck, Helper("HEAP_STATIC", "3") as healthy:
                stuck.start_blocking()
                file, messages = self.capture(stuck.target, healthy.pid, plugins=plugins, directory=directory)
                self.assertEqual(set(self.heaps(file, stuck.target).values()), {BUSY})
                self.assertTrue(all(isinstance(value, int) for value in self.heaps(file, healthy.pid).values()), messages)
                self.assertIn(stuck.mount, messages)

        self.with_each_plugin(check)

    def test_a_program_on_a_blocked_file_system(self):
        self.check_program_on_mount("")

    def test_a_program_on_a_file_system_that_opens_but_does_not_read(self):
        self.check_program_on_mount("reads")

    def test_a_file_system_that_is_slow_for_each_process(self):
        """Each answer arrives in time, but there are many. One plugin is enough, as both read with the same code."""
        copies = 'for i in $(seq 120); do "$0$i" 1 <&3 >/dev/null & done 3<&0; sleep 1; echo ready; wait'
        program = os.path.join(self.scratch.name, "mnt", "file")
        with Stuck(self.scratch.name, os.environ["HEAP_STATIC"], "/bin/sh", "-c", copies, program, hang_mode="slow") as stuck:
            stuck.start_blocking()
            file, messages = self.capture(*map(int, stuck.children()), plugins=["--plugins=jemalloc-ptrace,procfs-sched"])
            self.assertIn(BUSY, [gap for pid in stuck.children() for gap in self.heaps(file, int(pid)).values()], messages)

    def test_a_process_with_locked_mappings(self):
        def check(directory, plugins):
            with Stuck(directory, os.environ["HEAP_STATIC"], os.environ["STUCK"], "memory",
                       os.path.join(directory, "mnt", "file")) as stuck, Helper("HEAP_STATIC", "3") as healthy:
                stuck.start_blocking()
                time.sleep(CACHE_EXPIRY_S)  # until the second thread waits for the lock
                file, messages = self.capture(stuck.target, healthy.pid, plugins=plugins, directory=directory)
                self.assertEqual(set(self.heaps(file, stuck.target).values()), {BUSY}, messages)
                self.assertTrue(all(isinstance(value, int) for value in self.heaps(file, healthy.pid).values()), messages)
                self.assertEqual(file.processes[stuck.target]["process.smaps_rollup"], BUSY)
                self.assertNotEqual(file.processes[healthy.pid]["process.smaps_rollup"], BUSY)

        self.with_each_plugin(check)

    @contextlib.contextmanager
    def blocked_child(self):
        """Yields a target and its child, which shares its memory and is inside execve, so that reading the child's stat file blocks."""
        with Stuck(self.scratch.name, os.environ["HEAP_STATIC"], os.environ["STUCK"], "vfork",
                   os.path.join(self.scratch.name, "mnt", "file")) as stuck:
            stuck.start_blocking()
            harness.read_until_stable(lambda: stuck.children() or time.monotonic())
            time.sleep(CACHE_EXPIRY_S)  # until the child blocks
            [child] = stuck.children()
            yield stuck.target, int(child)

    def check_blocked_child(self, plugins):
        """Captures a child that blocks its readers; returns its rows, the messages and its pid."""
        with self.blocked_child() as (target, child), Helper("HEAP_STATIC", "3") as healthy:
            file, messages = self.capture(child, target, healthy.pid, plugins=plugins)
        self.assertEqual(set(self.heaps(file, child).values()), {BUSY}, messages)
        self.assertTrue(all(isinstance(value, int) for value in self.heaps(file, healthy.pid).values()), messages)
        return [row for (tgid, _), row in file.threads.items() if tgid == child], messages, child

    def test_a_child_in_execve_with_locked_mappings(self):
        """With task-iter, which does not read the child's files."""
        messages = harness.run("--plugins=task-iter", "plugins").stdout
        if not re.search(r"^ .*\ballocated_bytes", messages.split("Denied:")[0].split("Unsupported:")[0], re.M):
            self.skipTest("needs the plugin task-iter, and the right to load BPF programs")
        for _ in range(ROUNDS):
            self.check_blocked_child(["--plugins=task-iter,procfs-sched"])

    def check_capture_of_blocked_child(self, jobs):
        for _ in range(ROUNDS):
            rows, messages, child = self.check_blocked_child(["--plugins=jemalloc-ptrace,procfs-sched", "--jobs", jobs])
            self.assertEqual([row["wchar"] for row in rows], [BUSY])
            self.assertEqual([row["nice"] for row in rows], [BUSY])
            self.assertEqual([row["comm"] for row in rows], [b"stuck"])
            self.assertIn(f"process {child} ", messages)

    def test_a_capture_of_a_blocked_child_by_one_thread(self):
        self.check_capture_of_blocked_child("1")

    def test_a_capture_of_a_blocked_child_by_two_threads(self):
        self.check_capture_of_blocked_child("2")

    def test_a_capture_of_the_whole_host(self):
        """All other threads have values, including the neighbours in the same batch."""
        with self.blocked_child() as (_, child), Helper("HEAP_STATIC", "3") as healthy:
            file, messages = self.capture(plugins=["--plugins=procfs-sched"])
        self.assertIn(f"process {child} ", messages)
        rows = [row for (tgid, _), row in file.threads.items() if tgid == healthy.pid]
        self.assertEqual([type(row["wchar"]) for row in rows], [int] * len(rows))
        self.assertGreater(len(rows), 1)
        self.assertEqual([tgid for (tgid, _), row in file.threads.items() if row["wchar"] == BUSY], [child])

    def test_a_process_in_execve_of_a_blocked_file(self):
        def check(directory, plugins):
            with Stuck(directory, os.environ["HEAP_STATIC"], os.environ["STUCK"], "exec",
                       os.path.join(directory, "mnt", "file"), hang_mode="reads") as stuck, Helper("HEAP_STATIC", "3") as healthy:
                stuck.start_blocking()
                file, messages = self.capture(stuck.target, healthy.pid, plugins=plugins, directory=directory)
                self.assertTrue(all(isinstance(value, int) for value in self.heaps(file, healthy.pid).values()), messages)

        self.with_each_plugin(check)

    @unittest.skipUnless(os.uname().machine == "x86_64", "sets a thread pointer directly only on x86_64")
    def test_a_thread_pointer_into_a_blocked_file(self):
        def check(directory, plugins):
            with Stuck(directory, os.environ["HEAP_STATIC"], os.environ["STUCK"], "pointer",
                       os.path.join(directory, "mnt", "file")) as stuck, Helper("HEAP_STATIC", "3") as healthy:
                stuck.start_blocking()
                file, messages = self.capture(stuck.target, healthy.pid, plugins=plugins, directory=directory)
                self.assertEqual(list(self.heaps(file, stuck.target).values()).count(BUSY), 1)
                self.assertTrue(all(isinstance(value, int) for value in self.heaps(file, healthy.pid).values()), messages)
                self.assertIn(stuck.mount, messages)

        self.with_each_plugin(check)


if __name__ == "__main__":
    concurrent_cases.main(jobs=4, alone=["test_a_capture_of_the_whole_host"])
