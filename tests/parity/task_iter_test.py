#!/usr/bin/python3
"""Checks that task-iter, procfs-sched and taskstats agree about a thread in every metric that they share.

A capture by the files is made before and after. Threads that slept must agree exactly. For threads that ran, counters must lie between the
two captures."""

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import unittest

import agreement
import file_json
import harness
from file_json import Gap

FILES = (f"--plugins={agreement.FILES}",)
# The files and taskstats provide values for threads that the kernel hides from BPF.
ITER = (f"--plugins={agreement.ITER},{agreement.FILES}",)
DELAYACCT = "/proc/sys/kernel/task_delayacct"
SCHEDSTATS = "/proc/sys/kernel/sched_schedstats"

THREADS = 41  # of the sleepers


def why_not_available():
    """Returns why task-iter cannot list threads here, or None if it must be able to."""
    output = harness.run(*ITER, "plugins").stdout
    if "task-iter" not in output:
        return "the plugin task-iter was not built"
    denied = re.search(r"^  Denied: (.*)$", output, re.M)
    if denied and "fills 0 of" in output:
        return denied[1]
    if not os.path.exists("/sys/kernel/btf/vmlinux"):
        return "the kernel does not describe its structures (BTF)"
    release = tuple(int(part) for part in re.findall(r"\d+", os.uname().release)[:2])
    return "the kernel is older than Linux 5.17" if release < (5, 17) else None


REASON_TO_SKIP = why_not_available()


@contextlib.contextmanager
def with_sysctl(path, value):
    """Sets a sysctl during a block if that is permitted."""
    if not os.access(path, os.W_OK):
        yield
        return
    with harness.Switch(path, value):
        yield


@unittest.skipIf(REASON_TO_SKIP, REASON_TO_SKIP)
class TaskIterCase(unittest.TestCase):
    longMessage = False

    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.directory = scratch.name

    def capture_host(self, name, before, *words):
        path = os.path.join(self.directory, name + ".ctprof.zst")
        harness.capture(path, *words, before=before)
        return file_json.load(path)

    def assert_none(self, wrong):
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong[:40]))


class HiddenThreads(TaskIterCase):
    def test_hidden_threads_have_values(self):
        """If the kernel hides the first process from BPF, the values come from the files and taskstats, otherwise from the iterator."""
        file = self.capture_host("all", ())
        self.assertEqual(file.faults(), [])
        first = file.threads[(1, 1)]
        for name in ("cpu_delay_count", "cpu_delay_total_ns", "hiwater_rss_bytes", "run_time_ns", "voluntary_csw", "nr_threads"):
            self.assertIsInstance(first[name], int, name)


class Parity(TaskIterCase):
    def compare(self, *words, runs=()):
        """Compares three captures, and returns the threads that slept."""
        found = agreement.Agreement(*(self.capture_host(*which, *words) for which in (("before", FILES), ("ours", ITER), ("after", FILES))))
        self.assertEqual(found.only_in_task_iter(), set())
        self.assertLessEqual({tgid for (tgid, _), row in found.ours.threads.items() if Gap("Denied") in row.values()}, {1})
        self.assert_none(found.find_differences(runs))
        return found.sleeping

    def compare_sleepers(self, *words):
        with harness.Helper("SLEEPERS", cwd=self.directory) as sleepers:
            harness.read_until_stable(lambda: self.run_times(sleepers.pid), pid=sleepers.pid)
            sleeping = self.compare(*words)
            self.assertEqual(sum(tgid == sleepers.pid for tgid, _ in sleeping), THREADS)

    @staticmethod
    def run_times(pid):
        times = {}
        for tid in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="ascii") as file:
                times[tid] = file.read()
        return times

    def test_all_switched_on(self):
        with with_sysctl(DELAYACCT, "1"), with_sysctl(SCHEDSTATS, "1"):
            self.compare_sleepers()

    def test_all_switched_off(self):
        with with_sysctl(DELAYACCT, "0"), with_sysctl(SCHEDSTATS, "0"):
            self.compare_sleepers()

    def test_running(self):
        with with_sysctl(DELAYACCT, "1"), with_sysctl(SCHEDSTATS, "1"), contextlib.ExitStack() as stack:
            program = [sys.executable, os.path.join(os.path.dirname(os.path.realpath(__file__)), "busy.py")]
            busy = [stack.enter_context(harness.Process(program)) for _ in range(2)]
            sleeping = self.compare(runs=[process.pid for process in busy])
        self.assertEqual([process.pid for process in busy if (process.pid, process.pid) in sleeping], [])


class Listing(TaskIterCase):
    def test_only_some_processes(self):
        for count in (1, 2):
            with contextlib.ExitStack() as stack:
                pids = [stack.enter_context(harness.Helper("SLEEPERS", cwd=self.directory)).pid for _ in range(count)]
                words = [word for pid in pids for word in ("-p", str(pid))]
                ours = self.capture_host("some", ITER, *words)
            self.assertEqual({tgid for tgid, _ in ours.threads}, set(pids))
            self.assertEqual(len(ours.threads), count * THREADS)
            self.assert_none(list(ours.faults()))

    def test_no_file_of_threads_is_opened(self):
        """Only the cgroup file of the first thread of a cgroup is opened. No thread is stopped."""
        trace = os.path.join(self.directory, "trace")
        with harness.Helper("SLEEPERS", cwd=self.directory) as sleepers:
            path = os.path.join(self.directory, "traced.ctprof.zst")
            harness.under_strace(self, ("-f", "-e", "trace=open,openat,ptrace"), f"--plugins={agreement.ITER}", "capture", "-o", path, "-p", str(sleepers.pid), log=trace)
        with open(trace, encoding="utf-8", errors="replace") as file:
            calls = file.read()
        opened = re.findall(r'"(?:/proc/)?[0-9]+/task/[0-9]+/([a-z]+)"', calls)
        self.assertEqual(opened, ["cgroup"])
        self.assertEqual(len(file_json.load(path).threads), THREADS)
        self.assertNotIn("ptrace(", calls)

    def test_a_cgroup_of_its_own(self):
        """Paths equal those of /proc, even when threads move after the path of their old cgroup was read."""
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            mount = next((line.split()[4] for line in file if " - cgroup2 " in line), None)
        if not mount or not os.access(mount, os.W_OK):
            self.skipTest("needs a cgroup v2 hierarchy, and permission to write to it")
        test_cgroup = tempfile.mkdtemp(prefix="ctprof-test-", dir=mount)
        try:
            with harness.Helper("SLEEPERS", cwd=self.directory) as sleepers:
                with open(os.path.join(test_cgroup, "cgroup.procs"), "w", encoding="ascii") as file:
                    file.write(str(sleepers.pid))
                ours = self.capture_host("cgroup", ITER)
                with open(f"/proc/{sleepers.pid}/cgroup", encoding="utf-8") as file:
                    expected = next(line[3:].rstrip("\n") for line in file if line.startswith("0::"))
        finally:
            os.rmdir(test_cgroup)
        self.assertEqual({row["cgroup"] for (tgid, _), row in ours.threads.items() if tgid == sleepers.pid}, {expected.encode()})


class Switches(TaskIterCase):
    def test_a_thread_older_than_the_switch(self):
        if not os.access(DELAYACCT, os.W_OK):
            self.skipTest("needs kernel.task_delayacct, and permission to set it")
        with harness.Switch(DELAYACCT, "0"), harness.Helper("SLEEPERS", cwd=self.directory) as old:
            with open(DELAYACCT, "w", encoding="ascii") as file:
                file.write("1")
            with harness.Helper("SLEEPERS", cwd=self.directory) as young:
                ours = self.capture_host("switched", ITER)
        for name in ("blkio_delay_count", "wpcopy_delay_total_ns"):
            self.assertEqual(ours.threads[old.pid, old.pid][name], Gap("PredatesSwitch"), name)
            self.assertIsInstance(ours.threads[young.pid, young.pid][name], int, name)
        self.assertIsInstance(ours.threads[old.pid, old.pid]["cpu_delay_count"], int)


class Faults(TaskIterCase):
    """Replaces answers of the kernel by strace."""

    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.directory, "traced.ctprof.zst")

    def under_strace(self, *options):
        """Runs ctprof without additional threads, so that all calls come from the main thread in one order."""
        trace = os.path.join(self.directory, "trace")
        alone = ("-e", "trace=bpf,read,clone3", "-e", "inject=clone3:error=EAGAIN")
        finished = harness.under_strace(self, (*alone, *options), "--plugins=task-iter,procfs-sched", "capture", "--jobs", "1",
                                        "-o", self.path, log=trace)
        with open(trace, encoding="utf-8", errors="replace") as file:
            return finished.stderr, file.read().splitlines()

    def capture_with_error(self, call, error, number):
        """Fails one call. Returns the standard error and the loaded file."""
        output, _ = self.under_strace("-e", f"inject={call}:error={error}:when={number}")
        file = file_json.load(self.path)
        self.assert_none(list(file.faults()))
        return output, file

    def find_calls(self, call, words):
        """Captures without faults. Returns the numbers, from 1, of the system calls whose arguments contain `words`."""
        calls = [line for line in self.under_strace()[1] if line.startswith(call + "(")]
        numbers = [number for number, line in enumerate(calls, 1) if words in line]
        self.assertGreater(len(numbers), 0, f"no {call} with {words}")
        return numbers

    def test_kernel_without_iter_info(self):
        """The kernel refuses iter_info, as before Linux 6.1."""
        for number in self.find_calls("bpf", "iter_info=[")[:2]:
            _, file = self.capture_with_error("bpf", "E2BIG", number)
            self.assertEqual(file.metrics["run_time_ns"].get("filled_by"), "task-iter")

    def test_no_descriptor_for_a_link(self):
        output, file = self.capture_with_error("bpf", "EMFILE", self.find_calls("bpf", "BPF_LINK_CREATE")[0])
        self.assertEqual(file.metrics["run_time_ns"].get("filled_by"), "procfs-sched")

    def test_failed_pass(self):
        """The other plugin that has the metric fills it."""
        for _ in range(5):  # the number of earlier reads depends on what runs on the host
            _, calls = self.under_strace()
            last_pass = max(place for place, line in enumerate(calls) if line.startswith("bpf(BPF_ITER_CREATE"))
            output, file = self.capture_with_error("read", "EIO", 1 + sum(line.startswith("read(") for line in calls[:last_pass]))
            if "source 'tasks' failed" in output:
                break
        self.assertIn("source 'tasks' failed: reading the threads by BPF: Input/output error", output)
        self.assertEqual(file.metrics["run_time_ns"].get("filled_by"), "procfs-sched")
        self.assertGreater(len(file.threads), 0)

    def test_failed_pass_in_a_separate_thread(self):
        """The main thread reads ahead of the pass four times for ctprof itself. The pass takes more reads."""
        fault = ("-f", "-P", "anon_inode:bpf_iter", "-e", "trace=read", "-e", "inject=read:error=EIO:when=5+")
        crowd = [subprocess.Popen(["sleep", "60"]) for _ in range(200)]
        try:
            output = harness.under_strace(self, fault, "--plugins=task-iter,procfs-sched", "capture", "-o", self.path).stderr
        finally:
            for process in crowd:
                process.kill()
                process.wait()
        self.assertIn("source 'tasks' failed: reading the threads by BPF: Input/output error", output)
        self.assertEqual(file_json.load(self.path).metrics["run_time_ns"].get("filled_by"), "procfs-sched")


class WithoutRights(TaskIterCase):
    def test_files_fill_what_they_can(self):
        if not harness.can_become_user():
            self.skipTest("needs root, to become an unprivileged user")
        path = os.path.join(self.directory, "user.ctprof.zst")
        harness.capture(path, prefix=harness.USER)
        file = file_json.load(path)
        self.assertEqual(file.columns_of("thread", "task-iter"), set())
        self.assertIn("run_time_ns", file.columns_of("thread", "procfs-sched"))
        for rights in ((), ("--inh-caps=+bpf", "--ambient-caps=+bpf"), ("--inh-caps=+perfmon", "--ambient-caps=+perfmon")):
            output = harness.run(*ITER, "plugins", prefix=[*harness.USER, *rights]).stdout
            self.assertRegex(output, "Denied: .*CAP_BPF with CAP_PERFMON", rights)

    def test_two_capabilities_are_enough(self):
        """With these capabilities an unprivileged user also sees threads of other users."""
        if not harness.can_become_user():
            self.skipTest("needs root, to become an unprivileged user")
        path = os.path.join(self.directory, "capable.ctprof.zst")
        prefix = [*harness.USER, "--inh-caps=+bpf,+perfmon", "--ambient-caps=+bpf,+perfmon"]
        with harness.Helper("SLEEPERS", cwd=self.directory) as sleepers:
            harness.capture(path, before=ITER, prefix=prefix)
        file = file_json.load(path)
        self.assertIsInstance(file.threads[sleepers.pid, sleepers.pid]["rchar"], int)
        self.assertEqual(list(file.faults()), [])


if __name__ == "__main__":
    harness.main()
