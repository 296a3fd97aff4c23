#!/usr/bin/python3
"""Compares the waits of the recorder off-cpu with those that threads measure themselves, and with counters of the kernel.

Environment: CTPROF; WAITS, a program whose threads measure their waits; STORM and TAKEOVER (storm.c, takeover.c); TEST_ROUNDS, the number of
kills (5)."""

import collections
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import recording  # noqa: E402
import measurement  # noqa: E402
import offcpu_file  # noqa: E402
from recording import Recorder, harness, list_bpf_objects, program_ids, run, wait_for  # noqa: E402

WAITS = os.environ["WAITS"]
ROUNDS = int(os.environ.get("TEST_ROUNDS", "5"))
PERCENT = 0.005
KIND_RUNS = 9
LARGEST_DIFFERENCE = 2  # percentage points
EXACT_SHARE = 0.999


class Case(recording.RecordingCase):
    def setUp(self):
        super().setUp()
        self.require_bpf_rights()

    def record_off_cpu(self, *words):
        """Records with off-cpu. Returns the finished process and the content of the file."""
        process = run("--recorders", "off-cpu", "-o", self.file, *words)
        self.assertEqual(process.returncode, 0, process.stderr)
        return process, offcpu_file.OffCpuFile(self.file)

    def assert_whole(self, window, kinds=offcpu_file.BLOCKED):
        """Checks for every thread that kinds add up to the total, and stacks to the waits of `kinds`, to the nanosecond, within the thread's window."""
        self.assertGreater(len(window.threads), 10)
        for thread in window.threads:
            self.assertEqual(thread.offcpu_ns, thread.ns(), thread.cells)
            self.assertEqual(thread.weight(), thread.ns(kinds), thread.cells)
            self.assertLessEqual(thread.offcpu_max_ns, thread.offcpu_ns)
            self.assertLessEqual(thread.offcpu_min_ns, thread.offcpu_max_ns)
            self.assertEqual(thread.offcpu_count == 0, thread.offcpu_ns == 0, thread.cells)
            if not thread.ended:
                self.assertLessEqual(thread.offcpu_ns, thread.wall_ns, thread.cells)


class ConcurrentRecordings(Case):
    """Two concurrent recorders: the kernel calls both programs from functions of its own, which must not be in stacks."""

    def leaves(self):
        folded = harness.run("export", self.file, "--to", "folded", "--metric", "offcpu_stacks", "-o", "-").stdout
        return {line.rsplit(" ", 1)[0].rsplit(";", 1)[1] for line in folded.splitlines()}

    def test_no_leaf_is_a_tracing_function(self):
        with Recorder("-o", self.here / ("other" + recording.SUFFIX), "--recorders", "off-cpu", "--metrics", "run_time_ns") as other:
            self.assertTrue(wait_for(lambda: len(program_ids(other.process.pid)) > 2))
            self.record_off_cpu("-d", "1s", "--offcpu-stacks", "every", "--metrics", "run_time_ns", "--", WAITS, "kinds", self.here / "file")
            other.signal(signal.SIGINT)
            self.assertEqual(other.finish()[0], 0)
        tracing = re.compile(r"__traceiter_|__bpf_trace_|bpf_trace_run|bpf_prog_|bpf_trampoline_|bpf_get_")
        self.assertEqual({leaf for leaf in self.leaves() if tracing.match(leaf)}, set())
        self.assertTrue(any("nanosleep" in leaf for leaf in self.leaves()), self.leaves())


@measurement.run_twice_at_most
class KnownWaits(Case):
    """Waits of each kind, by a program that measures them."""

    def test_each_kind_equals_the_measurement_of_the_thread(self):
        """Counts are exact in each run. For times the median of several runs is used: a hypervisor may take the CPU between the kernel's read of
        its clock and the recorder's, which a single run cannot distinguish from an error."""
        beyond = collections.defaultdict(list)
        for _ in range(KIND_RUNS):
            for name, differences in self.kinds_once().items():
                for what, difference in differences.items():
                    beyond[name, what].append(difference)
        self.assertEqual({len(differences) for differences in beyond.values()}, {KIND_RUNS})
        for place, differences in beyond.items():
            self.assertLess(statistics.median(differences), 0, (place, differences))

    def kinds_once(self):
        """Runs once. Returns for each kind of wait by how many ns each difference exceeds its tolerance: negative if it is within."""
        with harness.background_process("sleep", "600") as sleeper:
            process, window = self.record_off_cpu("--offcpu-period", "100us", "--", WAITS, "kinds", self.here / "file")
        self.assert_whole(window)
        # The kernel measures run delay with the run queue's clock, which is updated only at the start of a wake-up or switch. The recorder reads
        # its clock later. So each end of a wait may differ by the cost of a switch on this machine.
        switch_ns, *lines = process.stdout.splitlines()
        clock_ns = 2 * int(switch_ns)
        # Wake-ups by threads that the kernel hides from BPF are not observed: time on the run queue may then count as blocked.
        unseen = int((re.search(r"missed wake-ups and switches: (\d+)", process.stderr) or [0, 0])[1])
        places = {"nap": "takes_a_nap", "futex": "waits_for_word", "pipe": "reads_a_pipe", "fsync": "syncs", "fault": "touches"}
        found, beyond = {}, {}
        for line in lines:
            name, *numbers = line.split()
            tid, calls, blocked, off, first, last = map(int, numbers)
            thread = found[name] = window.thread(tid)
            self.assertTrue(thread.born and thread.ended, line)
            # Run delay before the first read of the clock and after the last one, from the kernel.
            outside = first + thread.wait_time_ns - last
            beyond[name] = {"off-CPU": abs(thread.offcpu_ns - off - outside) - max(PERCENT * (off + outside), clock_ns * thread.offcpu_count)}
            # Run delay excludes threads that were preempted on their way to sleep: they had changed their state already.
            delayed = thread.ns(("queued", "preempted"))
            allowed = max(PERCENT * thread.offcpu_ns, clock_ns * thread.offcpu_count) + unseen * thread.cpu_delay_max_ns
            beyond[name]["too short a wait for a CPU"] = thread.wait_time_ns - allowed - delayed
            beyond[name]["too long a wait for a CPU"] = delayed - (thread.wait_time_ns + thread.offcpu_preempted_ns + allowed)
            # All switches except the last one, as the kernel counts them.
            self.assertEqual(thread.count(offcpu_file.BLOCKED), thread.voluntary_csw - 1, (line, thread.cells))
            self.assertEqual(thread.offcpu_preempted_count, thread.nonvoluntary_csw, (line, thread.cells))
            if name in ("nap", "futex", "pipe"):
                allowed = max(PERCENT * blocked, clock_ns * calls) + unseen * thread.cpu_delay_max_ns
                beyond[name]["blocked for too long"] = thread.ns(offcpu_file.BLOCKED) - (blocked + allowed)
                beyond[name]["not blocked for long enough"] = blocked - thread.offcpu_preempted_ns - allowed - thread.ns(offcpu_file.BLOCKED)
                self.assertEqual(thread.offcpu_interruptible_count, thread.count(offcpu_file.BLOCKED) - thread.offcpu_uninterruptible_count)
            if name in places:  # fsync and fault also wait elsewhere, and their waits are shorter than a period
                share = 0.97 if name in ("nap", "futex", "pipe") else 0.8
                self.assertGreater(thread.weight(places[name]), share * thread.weight(), (line, thread.stacks))
        self.assertEqual(len(found), 8)
        self.assertEqual(found["nap"].offcpu_interruptible_count, 50, found["nap"].cells)
        for name in "competes", "competes_too":
            self.assertGreater(found[name].offcpu_preempted_ns, 0.9 * found[name].offcpu_ns - found[name].offcpu_queued_ns, found[name].cells)
        self.assert_slept(window.threads_of(sleeper.pid))
        return beyond

    def assert_slept(self, threads):
        """Checks a sleep that began before the window and ended after it: one wait, as long as the window, with its stack."""
        self.assertEqual(len(threads), 1)
        sleep = threads[0]
        self.assertEqual((sleep.offcpu_count, sleep.offcpu_interruptible_count), (1, 1), sleep.cells)
        self.assertEqual({sleep.offcpu_ns, sleep.offcpu_interruptible_ns, sleep.offcpu_max_ns, sleep.offcpu_min_ns}, {sleep.offcpu_ns})
        self.assertEqual(len(sleep.stacks), 1)
        self.assertIn("hrtimer_nanosleep", sleep.stacks[0][0])
        self.assertTrue(any("sleep" in name for name in sleep.stacks[0][0] if not name.startswith("hrtimer")), sleep.stacks)

    def test_weights_are_proportional_to_times(self):
        for period in "100us", "1ms", "10ms":
            process, window = self.record_off_cpu("--offcpu-period", period, "--", WAITS, "turns", "3", "32")
            self.assert_whole(window)
            long_ns, short_ns = map(int, process.stdout.split())
            places = {name: sum(thread.weight(name) for thread in window.threads) for name in ("waits_long", "waits_short")}
            share = 100 * places["waits_long"] / sum(places.values())
            expected = 100 * long_ns / (long_ns + short_ns)
            self.assertLess(abs(share - expected), LARGEST_DIFFERENCE, (period, places, long_ns, short_ns))


class CompleteTimes(Case):
    """No wait is lost, and all times add up."""

    def check_totals(self, process, least_threads=10):
        exact, threads = map(int, re.search(r"to the nanosecond, for (\d+) of (\d+) threads", process.stderr).groups())
        self.assertGreaterEqual(threads, least_threads)
        self.assertGreaterEqual(exact, EXACT_SHARE * threads, process.stderr)

    def test_idle(self):
        process, window = self.record_off_cpu("-d", "1s")
        self.check_totals(process)
        self.assertNotRegex(process.stderr, r"off-cpu: .* lost")
        self.assert_whole(window)

    def test_in_a_crowd_with_stacks_of_all_waits(self):
        process, window = self.record_off_cpu("--offcpu-stacks", "all", "--", WAITS, "crowd", "2")
        self.check_totals(process, 40)
        self.assert_whole(window, offcpu_file.KINDS)
        crowd = [thread for thread in window.threads if thread.descendant and thread.pcomm == "waits"]
        self.assertGreater(sum(thread.offcpu_count for thread in crowd), 10_000)
        for thread in crowd:
            if thread.born and thread.ended:
                self.assertEqual(thread.count(offcpu_file.BLOCKED), thread.voluntary_csw - 1, thread.cells)

    def test_a_stack_at_each_switch(self):
        process, window = self.record_off_cpu("--offcpu-stacks", "every", "--ring", "64M", "--", WAITS, "turns", "1", "4")
        self.check_totals(process)
        turns = [thread for thread in window.threads if thread.descendant and thread.tid != thread.tgid]
        self.assertEqual(len(turns), 4, process.stderr)
        self.assert_whole(window, offcpu_file.KINDS)
        for thread in turns:
            self.assertGreater(thread.weight("waits_long"), 0.6 * thread.ns(offcpu_file.BLOCKED), thread.stacks)

    def test_threads_that_exit(self):
        """Thousands of threads per second: threads that live within the window have as many switches as the kernel counted."""
        process, window = self.record_off_cpu("--", os.environ["STORM"], "8000", "4000")
        self.check_totals(process, 8000)
        self.assertNotRegex(process.stderr, r"off-cpu: .* lost")
        exited = [thread for thread in window.threads if thread.descendant and thread.pcomm == "storm" and thread.born and thread.ended]
        self.assertGreaterEqual(len(exited), 8000)
        for thread in exited:
            self.assertEqual(thread.count(offcpu_file.BLOCKED), thread.voluntary_csw - 1, thread.cells)
            self.assertEqual(thread.offcpu_preempted_count, thread.nonvoluntary_csw, thread.cells)
        self.assert_whole(window)

    def test_exec_by_another_thread_than_the_leader(self):
        """After an exec by another thread than the leader: the successor has its waits from before and after the exec, the old leader is separate."""
        process, window = self.record_off_cpu("--offcpu-period", "100us", "--", os.environ["TAKEOVER"], "naps")
        self.check_totals(process)
        self.assert_whole(window)
        leader, successor = sorted((thread for thread in window.threads_of(int(process.stdout)) if thread.tid == thread.tgid), key=lambda thread: thread.offcpu_count)
        self.assertLess(leader.offcpu_count, 20, leader.cells)
        self.assertGreater(leader.offcpu_interruptible_ns, 100_000_000, leader.cells)
        self.assertGreaterEqual(successor.offcpu_interruptible_count, 150, successor.cells)
        self.assertLess(successor.offcpu_ns, leader.offcpu_interruptible_ns + 200_000_000, successor.cells)
        self.assertGreater(successor.weight("nap"), 0.8 * successor.weight(), successor.stacks)

    def test_selected_processes(self):
        with harness.background_process("sleep", "600") as sleeper:
            _, window = self.record_off_cpu("-d", "300ms", "-p", sleeper.pid)
        self.assertEqual({thread.tgid for thread in window.threads}, {sleeper.pid})
        self.assertEqual(window.threads[0].offcpu_count, 1)
        self.assertEqual(window.threads[0].weight(), window.threads[0].offcpu_ns)

    def test_windows_back_to_back(self):
        """A thread that sleeps all the time has one wait in each window."""
        with harness.background_process("sleep", "600") as sleeper:
            process = run("--recorders", "off-cpu", "-d", "300ms", "--repeat", "3", "-o", self.here / "runs")
        self.assertEqual(process.returncode, 0, process.stderr)
        files = sorted((self.here / "runs").iterdir())
        self.assertEqual(len(files), 3)
        for file in files:
            window = offcpu_file.OffCpuFile(file)
            self.assert_whole(window)
            self.assertEqual([thread.offcpu_count for thread in window.threads_of(sleeper.pid)], [1])
            self.assertGreater(window.threads_of(sleeper.pid)[0].offcpu_ns, 250_000_000)

    def test_a_budget_that_is_too_small_is_reported(self):
        process, window = self.record_off_cpu("--budget", "0.01%", "--offcpu-period", "10us", "--", WAITS, "crowd", "3")
        self.assertRegex(process.stderr, r"the budget was nearly used up: a stack is now recorded per [\d.]+ ms of waiting")
        self.assert_whole(window)


class OneCgroup(Case):
    """BPF programs follow the threads of the cgroup and of those below it, and no others."""

    def setUp(self):
        super().setUp()
        mounts = pathlib.Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
        root = next((line.split()[1] for line in mounts if line.split()[2] == "cgroup2"), "/nowhere")
        self.cgroup = pathlib.Path(root) / f"ctprof-off-cpu-{os.getpid()}"
        try:
            (self.cgroup / "below" / "far").mkdir(parents=True)
        except OSError as error:
            self.skipTest(f"needs permission to make cgroups: {error}")
        self.addCleanup(self.remove)

    def remove(self):
        for path in (self.cgroup / "below" / "far", self.cgroup / "below", self.cgroup):
            self.assertTrue(wait_for(lambda path=path: not (path / "cgroup.procs").read_text(encoding="ascii")))
            path.rmdir()

    def sleeper(self, *below, program=("sleep", "600")):
        """Starts a process in the cgroup or below it; with None outside."""
        process = subprocess.Popen(program)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        if below != (None,):
            (self.cgroup.joinpath(*below) / "cgroup.procs").write_text(str(process.pid), encoding="ascii")
        return process.pid

    def record_followed_threads(self, script, *words):
        """Records while a shell outside of the cgroup runs the script, with the cgroup as $1. Returns threads by process, and the number of followed
        threads."""
        process, window = self.record_off_cpu("--cgroup", f"/{self.cgroup.name}", *words, "--", "sh", "-c", script, "sh", self.cgroup)
        exact, number = map(int, re.search(r"to the nanosecond, for (\d+) of (\d+) threads", process.stderr).groups())
        self.assertEqual(exact, number, process.stderr)
        found = collections.defaultdict(list)
        for thread in window.threads:
            self.assertEqual(thread.weight(), thread.ns(offcpu_file.BLOCKED), thread.cells)
            found[thread.tgid].append(thread)
        return found, number

    def test_existing_and_new_processes(self):
        there = self.sleeper(), self.sleeper("below", "far")
        self.sleeper(None)
        found, number = self.record_followed_threads('echo $$ >"$1/below/cgroup.procs"; sleep 0.1; sh -c "sleep 0.2; true"; true')
        self.assertEqual(number, 6)
        self.assertEqual(sum(map(len, found.values())), 6)
        for pid in there:
            self.assertEqual([(thread.offcpu_count, thread.offcpu_interruptible_count) for thread in found[pid]], [(1, 1)])
        waits_of_new_threads = sorted(thread.offcpu_interruptible_ns for threads in found.values() for thread in threads if thread.born and thread.comm == "sleep")
        self.assertEqual([round(ns / 1e8) for ns in waits_of_new_threads], [1, 2])

    def test_a_process_that_joins_later(self):
        threads = "import threading, time\nfor _ in range(3): threading.Thread(target=time.sleep, args=(600,)).start()"
        comes = self.sleeper(None, program=(sys.executable, "-c", threads))
        self.assertTrue(wait_for(lambda: len(os.listdir(f"/proc/{comes}/task")) == 4))
        found, number = self.record_followed_threads(f'sleep 0.3; echo {comes} >"$1/cgroup.procs"; sleep 0.3')
        self.assertEqual((number, len(found[comes])), (4, 4))
        for thread in found[comes]:
            self.assertEqual(thread.offcpu_count, 1, thread.cells)
            self.assertAlmostEqual(thread.offcpu_interruptible_ns / 1e9, 0.3, delta=0.15)

    def test_a_cgroup_that_is_created_again(self):
        """This happens when a service restarts."""
        found, _ = self.record_followed_threads('rmdir "$1/below/far" "$1/below" "$1"; mkdir -p "$1/below/far"; echo $$ >"$1/below/cgroup.procs"; sleep 0.2; true')
        self.assertIn(2, [round(thread.offcpu_interruptible_ns / 1e8) for threads in found.values() for thread in threads if thread.comm == "sleep"])

    def test_selected_processes_of_the_cgroup(self):
        one, _ = self.sleeper(), self.sleeper()
        process, window = self.record_off_cpu("--cgroup", f"/{self.cgroup.name}", "-p", one, "-d", "100ms")
        self.assertEqual([thread.tgid for thread in window.threads if thread.offcpu_count], [one])
        self.assertRegex(process.stderr, "for 1 of 1 threads")

    def test_without_a_mount_all_threads_are_followed(self):
        """This is reported, and rows of other threads are excluded nevertheless."""
        one, far = self.sleeper(), self.sleeper("below", "far")
        words = recording.command("--recorders", "off-cpu", "--cgroup", f"/{self.cgroup.name}", "-d", "100ms", "-o", self.file)
        only_below = 'mount --bind "$1/below" "$2" && umount "$3" && shift 3 && exec "$@"'
        self.here.joinpath("seen").mkdir()
        process = subprocess.run(["unshare", "-m", "sh", "-c", only_below, "sh", self.cgroup, self.here / "seen", self.cgroup.parent, *words],
                                 capture_output=True, text=True, timeout=recording.TIMEOUT, check=False)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertRegex(process.stderr, rf"recorders sample the whole host, because no mounted .* contains cgroup '/{self.cgroup.name}'")
        self.assertEqual({thread.tgid for thread in offcpu_file.OffCpuFile(self.file).threads if thread.offcpu_count}, {one, far})
        self.assertGreater(int(re.search(r"for \d+ of (\d+) threads", process.stderr)[1]), 10)


class HiddenThreads(Case):
    def test_hidden_threads_have_gaps(self):
        """Some kernels hide threads from BPF programs. A busy thread is not reported as hidden."""
        with harness.busy_process() as busy:
            process, window = self.record_off_cpu("-d", "300ms")
        hidden = re.search(r"off-cpu: .*this kernel hides (\d+) threads from BPF programs: their waits are unknown", process.stderr)
        unknown = [thread for thread in window.threads if thread.cells["offcpu_ns"] is None]
        self.assertEqual(len(unknown), int(hidden[1]) if hidden else 0, process.stderr)
        for thread in unknown:
            self.assertIsNone(thread.cells["offcpu_max_ns"])
            self.assertEqual(thread.stacks, [])
        self.assertIsNotNone(window.threads_of(busy.pid)[0].cells["offcpu_ns"])
        if not hidden:
            self.skipTest("this kernel hides no threads")
        process, window = self.record_off_cpu("-d", "100ms", "-p", 1)
        self.assertRegex(process.stderr, r"off-cpu: .*this kernel hides \d+ threads from BPF programs")
        self.assertEqual({thread.cells.get("offcpu_ns") for thread in window.threads_of(1)}, {None})


class Cleanup(Case):
    def test_no_program_remains(self):
        for at in range(ROUNDS):
            with Recorder("-d", "60s", "-o", self.file, "--recorders", "off-cpu") as recorder:
                pid = recorder.process.pid
                self.assertTrue(wait_for(lambda pid=pid: len(program_ids(pid)) > 4))
                time.sleep(0.05 * (at % 4))
                programs = program_ids(pid)
                recorder.process.kill() if at % 2 else recorder.process.terminate()
                recorder.process.communicate()
            self.assertTrue(wait_for(lambda programs=programs: not programs & list_bpf_objects("prog").keys()), programs)

    def test_without_permission_one_sentence(self):
        self.here.chmod(0o777)
        process = run("-d", "100ms", "-o", self.file, "--recorders", "off-cpu", "-q", user=65534, group=65534, extra_groups=[])
        self.assertEqual(process.returncode, 2)
        self.assertEqual(process.stderr.count("\n"), 1, process.stderr)
        self.assertRegex(process.stderr, r"cannot start the recorder '[a-z-]+': .*CAP_BPF")


if __name__ == "__main__":
    unittest.main()
