#!/usr/bin/python3
"""What task-iter says of a thread is what procfs-sched and taskstats say of it, in every metric that both fill.

Threads that slept must agree to the last bit, with a capture by the files before and one behind; what grows must lie between the two for
threads that ran."""

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
# The files and taskstats fill in for threads that a kernel keeps from BPF.
ITER = (f"--plugins={agreement.ITER},{agreement.FILES}",)
DELAYACCT = "/proc/sys/kernel/task_delayacct"
SCHEDSTATS = "/proc/sys/kernel/sched_schedstats"

THREADS = 41  # of the sleepers


def why_not():
    """Why task-iter cannot list here, or None where it must."""
    said = harness.run(*ITER, "plugins").stdout
    if "task-iter" not in said:
        return "the plugin task-iter was not built"
    denied = re.search(r"^  Denied: (.*)$", said, re.M)
    if denied and "fills 0 of" in said:
        return denied[1]
    if not os.path.exists("/sys/kernel/btf/vmlinux"):
        return "the kernel does not describe its structures (BTF)"
    release = tuple(int(part) for part in re.findall(r"\d+", os.uname().release)[:2])
    return "the kernel is older than Linux 5.17" if release < (5, 17) else None


REFUSED = why_not()


@contextlib.contextmanager
def switched(path, value):
    """Set where it can be."""
    if not os.access(path, os.W_OK):
        yield
        return
    with harness.Switch(path, value):
        yield


@unittest.skipIf(REFUSED, REFUSED)
class OfTaskIter(unittest.TestCase):
    longMessage = False

    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.directory = scratch.name

    def captured(self, name, before, *words):
        path = os.path.join(self.directory, name + ".ctprof.zst")
        harness.capture(path, *words, before=before)
        return file_json.load(path)

    def assert_none(self, wrong):
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong[:40]))


class Unseen(OfTaskIter):
    def test_who_is_kept_from_bpf_has_figures_all_the_same(self):
        """On a kernel that hides the first process from BPF they come from the files and taskstats; elsewhere from the pass itself."""
        file = self.captured("all", ())
        self.assertEqual(file.faults(), [])
        first = file.threads[(1, 1)]
        for name in ("cpu_delay_count", "cpu_delay_total_ns", "hiwater_rss_bytes", "run_time_ns", "voluntary_csw", "nr_threads"):
            self.assertIsInstance(first[name], int, name)


class Parity(OfTaskIter):
    def compare(self, *words, runs=()):
        """Which threads slept."""
        found = agreement.Agreement(*(self.captured(*which, *words) for which in (("before", FILES), ("ours", ITER), ("after", FILES))))
        self.assertEqual(found.alone(), set())
        self.assertLessEqual({tgid for (tgid, _), row in found.ours.threads.items() if Gap("Denied") in row.values()}, {1})
        self.assert_none(found.wrong(runs))
        return found.asleep

    def compare_sleepers(self, *words):
        with harness.Helper("SLEEPERS", cwd=self.directory) as sleepers:
            harness.settled(lambda: self.run_times(sleepers.pid), pid=sleepers.pid)
            asleep = self.compare(*words)
            self.assertEqual(sum(tgid == sleepers.pid for tgid, _ in asleep), THREADS)

    @staticmethod
    def run_times(pid):
        times = {}
        for tid in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="ascii") as file:
                times[tid] = file.read()
        return times

    def test_all_switched_on(self):
        with switched(DELAYACCT, "1"), switched(SCHEDSTATS, "1"):
            self.compare_sleepers()

    def test_all_switched_off(self):
        with switched(DELAYACCT, "0"), switched(SCHEDSTATS, "0"):
            self.compare_sleepers()

    def test_running(self):
        with switched(DELAYACCT, "1"), switched(SCHEDSTATS, "1"), contextlib.ExitStack() as stack:
            program = [sys.executable, os.path.join(os.path.dirname(os.path.realpath(__file__)), "busy.py")]
            busy = [stack.enter_context(harness.Process(program)) for _ in range(2)]
            asleep = self.compare(runs=[process.pid for process in busy])
        self.assertEqual([process.pid for process in busy if (process.pid, process.pid) in asleep], [])


class Listing(OfTaskIter):
    def test_only_some_processes(self):
        for count in (1, 2):
            with contextlib.ExitStack() as stack:
                pids = [stack.enter_context(harness.Helper("SLEEPERS", cwd=self.directory)).pid for _ in range(count)]
                words = [word for pid in pids for word in ("-p", str(pid))]
                ours = self.captured("some", ITER, *words)
            self.assertEqual({tgid for tgid, _ in ours.threads}, set(pids))
            self.assertEqual(len(ours.threads), count * THREADS)
            self.assert_none(list(ours.faults()))

    def test_no_file_of_threads_is_opened(self):
        """But the file of a cgroup's first thread; and no thread is stopped."""
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
        """Paths are those of /proc also where threads are moved after the path of their old cgroup is known."""
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            mount = next((line.split()[4] for line in file if " - cgroup2 " in line), None)
        if not mount or not os.access(mount, os.W_OK):
            self.skipTest("needs a cgroup v2 hierarchy, and leave to write to it")
        room = tempfile.mkdtemp(prefix="ctprof-test-", dir=mount)
        try:
            with harness.Helper("SLEEPERS", cwd=self.directory) as sleepers:
                with open(os.path.join(room, "cgroup.procs"), "w", encoding="ascii") as file:
                    file.write(str(sleepers.pid))
                ours = self.captured("cgroup", ITER)
                with open(f"/proc/{sleepers.pid}/cgroup", encoding="utf-8") as file:
                    expected = next(line[3:].rstrip("\n") for line in file if line.startswith("0::"))
        finally:
            os.rmdir(room)
        self.assertEqual({row["cgroup"] for (tgid, _), row in ours.threads.items() if tgid == sleepers.pid}, {expected.encode()})


class Switches(OfTaskIter):
    def test_a_thread_older_than_the_switch(self):
        if not os.access(DELAYACCT, os.W_OK):
            self.skipTest("needs kernel.task_delayacct, and leave to set it")
        with harness.Switch(DELAYACCT, "0"), harness.Helper("SLEEPERS", cwd=self.directory) as old:
            with open(DELAYACCT, "w", encoding="ascii") as file:
                file.write("1")
            with harness.Helper("SLEEPERS", cwd=self.directory) as young:
                ours = self.captured("switched", ITER)
        for name in ("blkio_delay_count", "wpcopy_delay_total_ns"):
            self.assertEqual(ours.threads[old.pid, old.pid][name], Gap("PredatesSwitch"), name)
            self.assertIsInstance(ours.threads[young.pid, young.pid][name], int, name)
        self.assertIsInstance(ours.threads[old.pid, old.pid]["cpu_delay_count"], int)


class Faults(OfTaskIter):
    """What a kernel may answer, answered by strace."""

    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.directory, "traced.ctprof.zst")

    def under_strace(self, *options):
        """Without threads, so that all calls are the main one's, and come in one order."""
        trace = os.path.join(self.directory, "trace")
        alone = ("-e", "trace=bpf,read,clone3", "-e", "inject=clone3:error=EAGAIN")
        done = harness.under_strace(self, (*alone, *options), "--plugins=task-iter,procfs-sched", "capture", "--jobs", "1",
                                    "-o", self.path, log=trace)
        with open(trace, encoding="utf-8", errors="replace") as file:
            return done.stderr, file.read().splitlines()

    def answered(self, call, error, number):
        """What it said, and the file."""
        said, _ = self.under_strace("-e", f"inject={call}:error={error}:when={number}")
        file = file_json.load(self.path)
        self.assert_none(list(file.faults()))
        return said, file

    def numbers_of(self, call, words):
        """Which of these calls they are, in a capture to which nothing is done."""
        calls = [line for line in self.under_strace()[1] if line.startswith(call + "(")]
        numbers = [number for number, line in enumerate(calls, 1) if words in line]
        self.assertGreater(len(numbers), 0, f"no {call} with {words}")
        return numbers

    def test_links_that_know_no_process(self):
        """As before Linux 6.1."""
        for number in self.numbers_of("bpf", "iter_info=[")[:2]:
            _, file = self.answered("bpf", "E2BIG", number)
            self.assertEqual(file.metrics["run_time_ns"].get("filled_by"), "task-iter")

    def test_no_descriptor_for_a_link(self):
        said, file = self.answered("bpf", "EMFILE", self.numbers_of("bpf", "BPF_LINK_CREATE")[0])
        self.assertEqual(file.metrics["run_time_ns"].get("filled_by"), "procfs-sched")

    def test_a_pass_that_breaks_off(self):
        """Whoever else has a metric fills it."""
        for _ in range(5):  # what else is read before it varies with what runs on the host
            _, calls = self.under_strace()
            last_pass = max(place for place, line in enumerate(calls) if line.startswith("bpf(BPF_ITER_CREATE"))
            said, file = self.answered("read", "EIO", 1 + sum(line.startswith("read(") for line in calls[:last_pass]))
            if "source 'tasks' failed" in said:
                break
        self.assertIn("source 'tasks' failed: reading the threads by BPF: Input/output error", said)
        self.assertEqual(file.metrics["run_time_ns"].get("filled_by"), "procfs-sched")
        self.assertGreater(len(file.threads), 0)

    def test_a_pass_that_breaks_off_in_its_own_thread(self):
        """The main thread reads ahead of the pass four times, of ctprof itself, and the pass takes more."""
        fault = ("-f", "-P", "anon_inode:bpf_iter", "-e", "trace=read", "-e", "inject=read:error=EIO:when=5+")
        crowd = [subprocess.Popen(["sleep", "60"]) for _ in range(200)]
        try:
            said = harness.under_strace(self, fault, "--plugins=task-iter,procfs-sched", "capture", "-o", self.path).stderr
        finally:
            for process in crowd:
                process.kill()
                process.wait()
        self.assertIn("source 'tasks' failed: reading the threads by BPF: Input/output error", said)
        self.assertEqual(file_json.load(self.path).metrics["run_time_ns"].get("filled_by"), "procfs-sched")


class WithoutRights(OfTaskIter):
    def test_files_fill_what_they_can(self):
        if not harness.can_become_user():
            self.skipTest("needs root, to become somebody without rights")
        path = os.path.join(self.directory, "user.ctprof.zst")
        harness.capture(path, prefix=harness.USER)
        file = file_json.load(path)
        self.assertEqual(file.columns_of("thread", "task-iter"), set())
        self.assertIn("run_time_ns", file.columns_of("thread", "procfs-sched"))
        for rights in ((), ("--inh-caps=+bpf", "--ambient-caps=+bpf"), ("--inh-caps=+perfmon", "--ambient-caps=+perfmon")):
            said = harness.run(*ITER, "plugins", prefix=[*harness.USER, *rights]).stdout
            self.assertRegex(said, "Denied: .*CAP_BPF with CAP_PERFMON", rights)

    def test_two_capabilities_are_enough(self):
        """With them a user sees threads of others, too."""
        if not harness.can_become_user():
            self.skipTest("needs root, to become somebody without rights")
        path = os.path.join(self.directory, "capable.ctprof.zst")
        prefix = [*harness.USER, "--inh-caps=+bpf,+perfmon", "--ambient-caps=+bpf,+perfmon"]
        with harness.Helper("SLEEPERS", cwd=self.directory) as sleepers:
            harness.capture(path, before=ITER, prefix=prefix)
        file = file_json.load(path)
        self.assertIsInstance(file.threads[sleepers.pid, sleepers.pid]["rchar"], int)
        self.assertEqual(list(file.faults()), [])


if __name__ == "__main__":
    harness.main()
