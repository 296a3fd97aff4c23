#!/usr/bin/python3
"""A file system that stops to answer holds up no capture: what is on it is Busy, a sentence names its mount, and the rest is there.

The file system is stuck_mount.py, in a mount namespace of its own. TEST_ROUNDS says how often each case is tried."""

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
import file_json
import harness
from harness import Helper

ROUNDS = int(os.environ.get("TEST_ROUNDS", "1"))
LONGEST = 40  # seconds for a capture on a busy machine; what hangs does so for ever
BUSY = file_json.Gap("Busy")
# The kernel believes what it knows of a file for a second.
FORGETTING = 1.2


class Stuck(harness.Process):
    """A program in a namespace where `mount` holds one file; `pid` is the program's."""

    def __init__(self, room, content, program, *words, hangs=""):
        self.mount = os.path.join(room, "mnt")
        self.switch = os.path.join(room, "content.stuck")
        self.hangs = hangs
        os.makedirs(self.mount, exist_ok=True)
        shutil.copy(content, os.path.join(room, "content"))
        command = [sys.executable, os.path.join(HERE, "stuck_mount.py"), self.mount, os.path.join(room, "content")]
        super().__init__([*command, program or os.path.join(self.mount, "file"), *words])

    def __enter__(self):
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.switch)
        super().__enter__()
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as children:
            self.target = int(children.read().split()[-1])
        return self

    def stick(self):
        with open(self.switch + ".new", "w", encoding="ascii") as file:
            file.write(self.hangs)
        os.rename(self.switch + ".new", self.switch)
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        time.sleep(FORGETTING)

    def children(self):
        """Of the target."""
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

    def capture(self, *pids, plugins, room=None):
        """A file, and what was said. Output goes to pipes, which a process that is left behind must not hold."""
        path = os.path.join(room or self.scratch.name, "x.ctprof.zst")
        chosen = ["-p", ",".join(map(str, pids))] if pids else []
        words = [*plugins, "capture", "--no-sync", *chosen, "-o", path]
        start = time.monotonic()
        process = subprocess.Popen([harness.CTPROF, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            _, said = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            process.kill()
            self.fail("the capture hangs")
        self.assertEqual(process.returncode, 0, said)
        self.assertLess(time.monotonic() - start, LONGEST)
        file = file_json.load(path)
        self.assertEqual(file.faults(), [])
        return file, said.decode()

    @staticmethod
    def heaps(file, pid):
        return {tid: row["allocated_bytes"] for (tgid, tid), row in file.threads.items() if tgid == pid}

    def with_each_plugin(self, check):
        """Calls it with a room and the plugin to use in it; both at once, since a capture mostly waits here."""
        with ThreadPoolExecutor() as pool:
            for _ in range(ROUNDS):
                calls = [pool.submit(check, os.path.join(self.scratch.name, plugin), [f"--plugins={plugin},procfs-sched"])
                         for plugin in ("jemalloc-ptrace", "task-iter")]
                for call in calls:
                    call.result()

    def check_program_on_it(self, hangs):
        def check(room, plugins):
            with Stuck(room, os.environ["HEAP_STATIC"], None, "3", hangs=hangs) as stuck, Helper("HEAP_STATIC", "3") as well:
                stuck.stick()
                file, said = self.capture(stuck.target, well.pid, plugins=plugins, room=room)
                self.assertEqual(set(self.heaps(file, stuck.target).values()), {BUSY})
                self.assertTrue(all(isinstance(value, int) for value in self.heaps(file, well.pid).values()), said)
                self.assertIn(stuck.mount, said)

        self.with_each_plugin(check)

    def test_a_program_on_it(self):
        self.check_program_on_it("")

    def test_a_program_on_it_that_opens_but_does_not_read(self):
        self.check_program_on_it("reads")

    def test_a_file_system_that_takes_its_time_for_each_process(self):
        """Each answer comes in time, so that nothing hangs; but there are many. Both plugins read by the same code."""
        copies = 'for i in $(seq 120); do "$0$i" 1 <&3 >/dev/null & done 3<&0; sleep 1; echo ready; wait'
        program = os.path.join(self.scratch.name, "mnt", "file")
        with Stuck(self.scratch.name, os.environ["HEAP_STATIC"], "/bin/sh", "-c", copies, program, hangs="slow") as stuck:
            stuck.stick()
            file, said = self.capture(*map(int, stuck.children()), plugins=["--plugins=jemalloc-ptrace,procfs-sched"])
            self.assertIn(BUSY, [gap for pid in stuck.children() for gap in self.heaps(file, int(pid)).values()], said)

    def test_a_process_whose_mappings_are_held(self):
        def check(room, plugins):
            with Stuck(room, os.environ["HEAP_STATIC"], os.environ["STUCK"], "memory",
                       os.path.join(room, "mnt", "file")) as stuck, Helper("HEAP_STATIC", "3") as well:
                stuck.stick()
                time.sleep(FORGETTING)  # until the second thread waits
                file, said = self.capture(stuck.target, well.pid, plugins=plugins, room=room)
                self.assertEqual(set(self.heaps(file, stuck.target).values()), {BUSY}, said)
                self.assertTrue(all(isinstance(value, int) for value in self.heaps(file, well.pid).values()), said)
                self.assertEqual(file.processes[stuck.target]["process.smaps_rollup"], BUSY)
                self.assertNotEqual(file.processes[well.pid]["process.smaps_rollup"], BUSY)

        self.with_each_plugin(check)

    @contextlib.contextmanager
    def held_child(self):
        """A target, and its child that shares its memory and is being replaced: whoever reads the child's stat file hangs."""
        with Stuck(self.scratch.name, os.environ["HEAP_STATIC"], os.environ["STUCK"], "vfork",
                   os.path.join(self.scratch.name, "mnt", "file")) as stuck:
            stuck.stick()
            harness.settled(lambda: stuck.children() or time.monotonic())
            time.sleep(FORGETTING)  # until it is where it hangs
            [child] = stuck.children()
            yield stuck.target, int(child)

    def check_held_child(self, plugins):
        """Of a child that hangs whoever reads it; returns its rows."""
        with self.held_child() as (target, child), Helper("HEAP_STATIC", "3") as well:
            file, said = self.capture(child, target, well.pid, plugins=plugins)
        self.assertEqual(set(self.heaps(file, child).values()), {BUSY}, said)
        self.assertTrue(all(isinstance(value, int) for value in self.heaps(file, well.pid).values()), said)
        return [row for (tgid, _), row in file.threads.items() if tgid == child], said, child

    def test_a_child_that_is_being_replaced_behind_held_mappings(self):
        """By task-iter, which does without the child's files."""
        said = harness.run("--plugins=task-iter", "plugins").stdout
        if not re.search(r"^ .*\ballocated_bytes", said.split("Denied:")[0].split("Unsupported:")[0], re.M):
            self.skipTest("needs the plugin task-iter, and leave to load BPF programs")
        for _ in range(ROUNDS):
            self.check_held_child(["--plugins=task-iter,procfs-sched"])

    def test_a_walk_that_meets_such_a_child(self):
        for jobs in ("1", "2") * ROUNDS:
            rows, said, child = self.check_held_child(["--plugins=jemalloc-ptrace,procfs-sched", "--jobs", jobs])
            self.assertEqual([row["wchar"] for row in rows], [BUSY])
            self.assertEqual([row["nice"] for row in rows], [BUSY])
            self.assertEqual([row["comm"] for row in rows], [b"stuck"])
            self.assertIn(f"process {child} ", said)

    def test_a_walk_of_the_whole_host(self):
        """Everything else is there: the threads around it in the same run of rows, too."""
        with self.held_child() as (_, child), Helper("HEAP_STATIC", "3") as well:
            file, said = self.capture(plugins=["--plugins=procfs-sched"])
        self.assertIn(f"process {child} ", said)
        rows = [row for (tgid, _), row in file.threads.items() if tgid == well.pid]
        self.assertEqual([type(row["wchar"]) for row in rows], [int] * len(rows))
        self.assertGreater(len(rows), 1)
        self.assertEqual([tgid for (tgid, _), row in file.threads.items() if row["wchar"] == BUSY], [child])

    def test_a_process_that_is_being_replaced_by_it(self):
        def check(room, plugins):
            with Stuck(room, os.environ["HEAP_STATIC"], os.environ["STUCK"], "exec",
                       os.path.join(room, "mnt", "file"), hangs="reads") as stuck, Helper("HEAP_STATIC", "3") as well:
                stuck.stick()
                file, said = self.capture(stuck.target, well.pid, plugins=plugins, room=room)
                self.assertTrue(all(isinstance(value, int) for value in self.heaps(file, well.pid).values()), said)

        self.with_each_plugin(check)

    @unittest.skipUnless(os.uname().machine == "x86_64", "sets a thread pointer by hand on x86_64 alone")
    def test_a_pointer_that_leads_into_it(self):
        def check(room, plugins):
            with Stuck(room, os.environ["HEAP_STATIC"], os.environ["STUCK"], "pointer",
                       os.path.join(room, "mnt", "file")) as stuck, Helper("HEAP_STATIC", "3") as well:
                stuck.stick()
                file, said = self.capture(stuck.target, well.pid, plugins=plugins, room=room)
                self.assertEqual(list(self.heaps(file, stuck.target).values()).count(BUSY), 1)
                self.assertTrue(all(isinstance(value, int) for value in self.heaps(file, well.pid).values()), said)
                self.assertIn(stuck.mount, said)

        self.with_each_plugin(check)


if __name__ == "__main__":
    harness.main()
