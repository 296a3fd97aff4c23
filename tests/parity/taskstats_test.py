#!/usr/bin/python3
"""Checks captures by taskstats against a plain netlink reader, against /proc, and against delays that the test causes."""

import contextlib
import os
import tempfile
import unittest

import file_json
import harness
from compare_rows import uncovered_columns, row_differences
from plain_taskstats import KINDS, OTHER_FIELDS, Taskstats, metrics_of

SWITCH = "/proc/sys/kernel/task_delayacct"
TASKSTATS_ONLY = ("--plugins=taskstats",)
THREADS = 41  # forty, and the main thread
FAR_FACTOR = 5       # the tested delay must exceed all others by this factor
TRIES = 5     # the host also runs other work


def plain_reader():
    """Returns a reader, or None if the kernel does not answer."""
    reader = Taskstats()
    try:
        reader.query(os.getpid())
        return reader
    except OSError:
        return None


def find_directory_on_a_disk():
    """Returns a directory on a block device, or None."""
    for directory in (tempfile.gettempdir(), "/var/tmp", os.getcwd(), os.path.expanduser("~")):
        device = os.stat(directory).st_dev
        if os.path.exists(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}") and os.access(directory, os.W_OK):
            return directory
    return None


class TaskstatsCase(unittest.TestCase):
    longMessage = False

    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.directory = scratch.name
        self.file = os.path.join(self.directory, "taskstats.ctprof.zst")
        self.reader = plain_reader()
        if not self.reader:
            self.skipTest("needs a kernel with taskstats, and CAP_NET_ADMIN")
        self.addCleanup(self.reader.close)

    def with_switch(self, value):
        if not os.access(SWITCH, os.W_OK):
            self.skipTest("needs kernel.task_delayacct, and permission to set it")
        return harness.Switch(SWITCH, value)

    def query(self, pid, **known):
        return {(pid, int(tid)): metrics_of(self.reader.query(int(tid)), **known) for tid in os.listdir(f"/proc/{pid}/task")}

    def differences(self, expected, captured):
        for key, row in expected.items():
            who = f"{key[0]}/{key[1]}"
            yield from row_differences(who, row, captured.threads[key])
            yield from uncovered_columns(row, captured.threads[key], captured.columns_of("thread", "taskstats"))

    def assert_equal(self, expected, captured):
        wrong = [*self.differences(expected, captured), *captured.faults()]
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong[:40]))


class SleepingThreads(TaskstatsCase):
    def compare(self, *words, **known):
        """Captures forty sleepers. Returns the standard error and the file."""
        with harness.Helper("SLEEPERS", cwd=self.directory) as sleepers:
            before = harness.read_until_stable(lambda: self.query(sleepers.pid, **known), pid=sleepers.pid)
            finished = harness.capture(self.file, *words, before=TASKSTATS_ONLY)
            after = self.query(sleepers.pid, **known)
            moved = [f"{key} {name}: {value}, then {after[key][name]}" for key, row in before.items() for name, value in row.items()
                     if after[key][name] != value]
            self.assertEqual(moved, [], "the sleepers did not sleep: " + "; ".join(moved))
        self.assertEqual(len(before), THREADS)
        captured = file_json.load(self.file)
        self.assert_equal(before, captured)
        return finished.stderr, captured

    def test_switched_on(self):
        with self.with_switch("1"):
            output, captured = self.compare()
        mark = {row["delay_block_active"] for row in captured.document["threads"] if row["taskstats_measured"]}
        self.assertEqual(mark, {True})
        with open("/proc/cmdline", encoding="utf-8") as file:
            since_boot = "delayacct" in file.read().split()
        self.assertEqual(output.count("kernel.task_delayacct was enabled after"), 0 if since_boot else 1, output)

    def test_switched_off(self):
        with self.with_switch("0"):
            output, _ = self.compare(switched_on=False)
        self.assertEqual(output.count("\n"), 1, output)
        self.assertIn("sysctl kernel.task_delayacct=1", output)

    def test_several_workers(self):
        with self.with_switch("1"):
            self.compare("--jobs", "3")

    def test_summary(self):
        """Each thread was requested once, and no request was lost."""
        with self.with_switch("0"):
            _, captured = self.compare(switched_on=False)
        summary = captured.document["taskstats_summary"]
        self.assertEqual(summary["ok_count"] + summary["esrch_count"], len(captured.threads))
        self.assertEqual([summary[key] for key in ("eperm_count", "other_err_count", "asked_again_count")], [0, 0, 0])


class SharedMetrics(TaskstatsCase):
    def captured_by(self, plugin, pid):
        harness.capture(self.file, "-p", str(pid), before=(f"--plugins={plugin}",))
        file = file_json.load(self.file)
        self.assertLessEqual(set(OTHER_FIELDS), file.columns_of("thread", plugin))
        return {key: {name: row[name] for name in OTHER_FIELDS} for key, row in file.threads.items()}

    def test_agree_with_proc(self):
        with harness.Helper("SLEEPERS", cwd=self.directory) as sleepers:
            harness.read_until_stable(lambda: self.query(sleepers.pid), pid=sleepers.pid)
            self.assertEqual(self.captured_by("taskstats", sleepers.pid), self.captured_by("procfs-sched", sleepers.pid))


class WaitingThreads(TaskstatsCase):
    def capture_waits(self, *words):
        """Returns the delay of each kind, in nanoseconds, of a thread that only waited. The capture must agree with the reader."""
        with self.with_switch("1"), harness.Helper("DELAYS", *words) as helper:
            expected = harness.read_until_stable(lambda: self.query(helper.pid), pid=helper.pid)
            harness.capture(self.file, "-p", str(helper.pid), before=TASKSTATS_ONLY)
        captured = file_json.load(self.file)
        self.assert_equal(expected, captured)
        row = captured.threads[helper.pid, helper.pid]
        return {kind: row[f"{kind}_delay_total_ns"] for kind in KINDS if isinstance(row[f"{kind}_delay_total_ns"], int)}

    def assert_far_above_others(self, kind, *words):
        seen = []
        for _ in range(TRIES):
            waits = self.capture_waits(*words)
            own = waits.pop(kind)
            if own > FAR_FACTOR * max(waits.values()):
                return
            seen.append(f"{kind} {own}, beside {waits}")
        self.fail("\n".join(seen))

    def test_for_the_disk(self):
        directory = find_directory_on_a_disk()
        if not directory:
            self.skipTest("needs a directory on a block device")
        with tempfile.TemporaryDirectory(prefix="ctprof-test-", dir=directory) as scratch_directory:
            self.assert_far_above_others("blkio", "fsync", os.path.join(scratch_directory, "synced"))

    def test_for_copies(self):
        self.assert_far_above_others("wpcopy", "cow")

    def test_for_a_cpu(self):
        self.assert_far_above_others("cpu", "cpu")


class WithoutRights(TaskstatsCase):
    def test_one_line_and_all_denied(self):
        if not harness.can_become_user():
            self.skipTest("needs root, to become an unprivileged user")
        finished = harness.capture(self.file, before=TASKSTATS_ONLY, prefix=harness.USER)
        self.assertEqual(finished.stderr.count("\n"), 1, finished.stderr)
        self.assertRegex(finished.stderr, r"cannot read \d+ metrics: Permission denied; run as root: ")
        captured = file_json.load(self.file)
        row = next(iter(captured.threads.values()))
        self.assertEqual({row[f"{kind}_delay_count"] for kind in KINDS}, {file_json.Gap("Denied")})
        self.assertEqual(list(captured.faults()), [])

    def test_procfs_fills_what_it_can(self):
        if not harness.can_become_user():
            self.skipTest("needs root, to become an unprivileged user")
        harness.capture(self.file, prefix=harness.USER)
        self.assertLessEqual(set(OTHER_FIELDS), file_json.load(self.file).columns_of("thread", "procfs-sched"))


class SilentKernel(TaskstatsCase):
    def test_kernel_that_does_not_answer(self):
        """strace suppresses all answers but the first for each thread of ctprof. The wait is bounded, and the cells name the failed source."""
        no_more_messages = ("-f", "-e", "trace=recvmmsg", "-e", "inject=recvmmsg:error=EAGAIN:when=2+")
        with contextlib.ExitStack() as stack:
            for _ in range(4):  # more threads than one answer contains
                stack.enter_context(harness.Helper("SLEEPERS", cwd=self.directory))
            finished = harness.under_strace(self, no_more_messages, *TASKSTATS_ONLY, "capture", "--jobs", "1", "-o", self.file)
        self.assertIn("did not answer taskstats requests", finished.stderr)
        captured = file_json.load(self.file)
        cells = [row["cpu_delay_count"] for row in captured.threads.values()]
        self.assertEqual({cell for cell in cells if isinstance(cell, file_json.Gap)}, {file_json.Gap("SourceFailed")})
        self.assertLess(sum(isinstance(cell, int) for cell in cells), len(cells) / 2)
        self.assertEqual(list(captured.faults()), [])


if __name__ == "__main__":
    harness.main()
