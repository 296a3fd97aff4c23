#!/usr/bin/python3
"""`record --recorders sleepers` and `capture --stacks`: stacks of threads that each wait in a different way, and sums of samples.

Environment: CTPROF, SLEEPS (sleeps.c)."""

import collections
import ctypes
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import recording  # noqa: E402
from recording import Recorder, harness, program_ids, run, wait_for  # noqa: E402

WAITS = os.environ["SLEEPS"]
METRICS = ("--metrics", "run_time_ns")
CHAIN = ("main_of", "outer", "middle")
# Parts of the names of the kernel's functions there, in all versions.
KERNEL = {"at_futex": "futex", "at_pipe": "pipe", "at_nanosleep": "nanosleep", "at_poll": "poll", "a) R 1 (b": "pipe", "crowd": "futex"}
DISK = ("at_fsync", "at_fault")
SYS_BPF, BPF_PROG_GET_FD_BY_ID = {"x86_64": 321, "aarch64": 280}[os.uname().machine], 13


class File:
    """`rows`: the columns of each living or exited thread, and `stacks`: stack (root first) -> weight."""

    def __init__(self, path, metric="sleeping_stacks"):
        lines = recording.read_lines(path)
        parts = collections.defaultdict(list)
        for line in lines:
            if line["kind"] == "stacks":
                parts[line["part"]].append(line)
        self.notes = next(line for line in lines if line["kind"] == "summary")["ctprof"]["notes"]
        self.rows = {}
        for line in lines:
            if line["kind"] == "exited" or (line["kind"] == "table" and line["entity"] == "thread"):
                for at in range(len(line["columns"]["tid"])):
                    self.rows[line["first_row"] + at] = {name: cells[at] for name, cells in line["columns"].items()} | {"stacks": {}}
        strings = [text for line in parts["strings"] for text in line["text"]]
        kernel = [kind == "kernel" for line in parts["modules"] for kind in line["type"]]
        frames = [("[truncated]", False)] + [(strings[name], kernel[module]) for line in parts["frames"]
                                             for name, module in zip(line["name"], line["module"])]
        stacks = [()]
        for line in parts["nodes"]:
            for parent, frame in zip(line["parent"], line["frame"]):
                stacks.append(stacks[parent] + (frames[frame],))
        for line in parts["weights"]:
            if line["metric"] == metric:
                for row, node, weight in zip(line["row"], line["node"], line["weight"]):
                    of_row = self.rows[row]["stacks"]
                    of_row[stacks[node]] = of_row.get(stacks[node], 0) + weight

    def of(self, pid):
        """Returns a map name -> rows of the process."""
        found = collections.defaultdict(list)
        for row in self.rows.values():
            if row["tgid"] == pid:
                found[row["comm"]].append(row)
        return found


def names(stack, of_kernel):
    return [name for name, is_kernel in stack if is_kernel == of_kernel]


class Waits:
    def __init__(self, *words):
        self.process = subprocess.Popen([WAITS, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        self.is_ready = self.process.stdout.readline() == "ready\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate()


def lasting_programs(pid):
    """Returns the BPF programs that the process has open, or an empty set if they still change: libbpf probes the kernel with temporary programs."""
    before = program_ids(pid)
    time.sleep(0.2)
    return before if before == program_ids(pid) else set()


def is_loaded(program):
    attributes = ctypes.create_string_buffer(program.to_bytes(4, sys.byteorder) + bytes(60))
    fd = ctypes.CDLL(None, use_errno=True).syscall(SYS_BPF, BPF_PROG_GET_FD_BY_ID, attributes, 64)
    if fd >= 0:
        os.close(fd)
    return fd >= 0


class Case(recording.RecordingCase):
    def setUp(self):
        super().setUp()
        self.require_bpf_rights()

    def run_recording(self, *words, **more):
        finished = run("-o", self.file, *METRICS, "--recorders", "sleepers", *words, **more)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return finished.stderr

    def take_beside_unreadable_thread(self, take, *words):
        """Records or captures waiting threads, and one whose stack cannot be read. Leak detection is off: it would stop threads that wait for the stack."""
        with Waits("trap") as trap, Waits(self.here) as waits:
            if not trap.is_ready:
                self.skipTest("needs userfaultfd")
            output = take(*words, env=os.environ | {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"})
        self.uses_bpf(output)
        self.assertRegex(output, rf"memory of process(es)? (\d+, )*{trap.pid}\b")
        self.assertTrue(all(names(stack, True) for stack in File(self.file).of(trap.pid)["trap"][0]["stacks"]))
        return File(self.file).of(waits.pid)

    def uses_bpf(self, output):
        if "only their kernel part, from /proc" in output:
            self.skipTest("needs BPF: " + output)

    def capture_stacks(self, *words, **more):
        finished = subprocess.run([harness.CTPROF, "capture", "--no-sync", "-o", self.file, "--stacks", *map(str, words)], capture_output=True,
                                  text=True, timeout=recording.TIMEOUT, check=False, **more)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return finished.stderr

    def check_thread(self, row, name):
        way = "at_pipe" if name.startswith("a)") else "at_condition" if name == "crowd" else name
        # A thread that waits for a disk continues within microseconds: then its stack has no user part, rather than one of another time.
        self.assertTrue(row["stacks"], name)
        whole = sum(weight for stack, weight in row["stacks"].items() if names(stack, False) != ["[truncated]"])
        if name == "at_nanosleep":
            self.assertGreater(whole, sum(row["stacks"].values()) / 2)
        elif name not in DISK:
            self.assertEqual(whole, sum(row["stacks"].values()), name)
        for stack in row["stacks"]:
            user = names(stack, False)
            if user == ["[truncated]"]:
                continue
            if way == "at_poll":  # 1,000 frames: those at the root exceed the limit
                self.assertGreater(user.count("at_poll"), 50)
            else:
                self.assertEqual(tuple(user[user.index("main_of"):][:4]), (*CHAIN, way), user)
            if name in KERNEL:
                self.assertTrue(any(KERNEL[name] in function for function in names(stack, True)), stack)


class RecordedStacks(Case):
    def test_each_wait_is_named(self):
        with Waits(self.here) as waits:
            self.uses_bpf(self.run_recording("-d", "2s", "--sleepers-freq", "40"))
        threads = File(self.file).of(waits.pid)
        for name in ("at_futex", "at_pipe", "at_nanosleep", "at_fsync", "at_fault", "at_poll", "a) R 1 (b", "crowd"):
            with self.subTest(name):
                if name in DISK and not threads[name][0]["stacks"]:
                    self.skipTest("the disk is too fast")
                for row in threads[name]:
                    self.check_thread(row, name)
        for stack in (stack for row in threads["at_fault"] for stack in row["stacks"]):
            kernel = names(stack, True)
            if any("SYSCALL" in name or "svc" in name for name in kernel):
                self.assertTrue(any("advise" in name for name in kernel), stack)  # it drops the pages; a fault is not a system call

    def test_a_large_stack_is_complete_and_a_larger_one_is_truncated(self):
        with Waits(self.here) as waits:
            output = self.run_recording("-d", "500ms", "-p", waits.pid)
        self.uses_bpf(output)
        threads = File(self.file).of(waits.pid)
        (large,) = threads["at_large"][0]["stacks"]
        user = names(large, False)
        self.assertEqual(tuple(user[user.index("main_of"):][:5]), (*CHAIN, "at_large", "large_frame"))
        self.assertEqual(user.count("large_frame"), 60)
        self.assertNotIn("[truncated]", user)
        (huge,) = threads["at_huge"][0]["stacks"]
        user = names(huge, False)
        self.assertEqual(user[0], "[truncated]")
        self.assertIn(user.count("huge_frame"), (7, 8))  # of 256 KiB
        self.assertNotIn("at_huge", user)

    def test_both_metrics_agree_and_sleepers_have_a_sample_of_each_pass(self):
        with Waits(self.here) as waits:
            output = self.run_recording("-d", "1500ms", "--sleepers-freq", "30")
        file = File(self.file)
        for row in file.rows.values():
            self.assertEqual(sum(row["stacks"].values()), row["sleeping_samples"] or 0, row["comm"])
        threads = file.of(waits.pid)
        found = {row["sleeping_samples"] for name in ("at_futex", "at_pipe", "at_poll", "crowd") for row in threads[name]}
        self.assertEqual(len(found), 1, found)
        passes = found.pop()
        self.assertGreater(passes, 1)
        self.assertLessEqual(max(row["sleeping_samples"] or 0 for row in file.rows.values()), passes)
        self.assertEqual({len(row["stacks"]) for row in threads["crowd"]}, {1})
        self.uses_bpf(output)
        # The stack of a thread that did not run was walked once: later samples are repeats.
        taken = int(re.search(r"sleepers: (\d+) stacks", output)[1])
        self.assertLess(taken, sum(row["sleeping_samples"] or 0 for row in file.rows.values()))

    def test_windows_back_to_back_are_independent(self):
        with Waits(self.here) as waits:
            directory = self.here / "many"
            finished = run("-o", directory, *METRICS, "--recorders", "sleepers", "-d", "600ms", "--repeat", "3", "--sleepers-freq", "20")
            self.assertEqual(finished.returncode, 0, finished.stderr)
        for path in sorted(directory.iterdir()):
            threads = File(path).of(waits.pid)
            for name in ("at_futex", "crowd"):
                for row in threads[name]:
                    self.assertEqual(sum(row["stacks"].values()), row["sleeping_samples"])
                    self.assertGreater(row["sleeping_samples"], 0)
                    self.assertNotIn("[rest]", [function for stack in row["stacks"] for function, _ in stack])

    def test_short_lived_threads_keep_their_samples(self):
        with harness.background_process(WAITS, "come", "100000", stdout=subprocess.DEVNULL) as come:
            self.run_recording("-d", "1500ms", "--sleepers-freq", "40")
        file = File(self.file)
        rows = [row for name, rows in file.of(come.pid).items() if name == "comes" for row in rows]
        self.assertGreater(len(rows), 20)
        for row in rows:
            self.assertEqual(sum(row["stacks"].values()), row["sleeping_samples"])
            for stack in row["stacks"]:
                user = names(stack, False)
                if "at_nap" in user:  # the thread may be exiting
                    self.assertEqual(tuple(user[user.index("main_of"):][:4]), (*CHAIN, "at_nap"))
        self.assertGreater(sum(row["sleeping_samples"] or 0 for row in rows), len(rows) / 2)

    def test_the_flame_graph_has_all_samples(self):
        self.run_recording("-d", "700ms")
        folded = subprocess.run([harness.CTPROF, "export", self.file, "--to", "folded", "--metric", "sleeping_stacks", "-o", "-"], check=True,
                                capture_output=True, text=True).stdout
        rows = File(self.file).rows.values()
        for row in rows:
            self.assertEqual(sum(row["stacks"].values()), row["sleeping_samples"] or 0, row)
        self.assertEqual(sum(int(line.rpartition(" ")[2]) for line in folded.splitlines()), sum(row["sleeping_samples"] or 0 for row in rows))
        self.assertRegex(folded.splitlines()[0], r"^[^;]+;[^;]+;\S+ \d+$")  # process, thread, root ... leaf, samples
        picture = self.here / "it.svg"
        subprocess.run([harness.CTPROF, "flame", self.file, "--metric", "sleeping_stacks", "-o", picture], check=True, capture_output=True)
        self.assertIn("<svg", picture.read_text(encoding="utf-8"))

    def test_with_the_other_recorders(self):
        with Waits(self.here) as waits:
            output = self.run_recording("-d", "700ms", "--recorders", "on-cpu,off-cpu,sleepers")
        if "on-cpu: " not in output or "off-cpu: " not in output:
            self.skipTest("needs on-cpu and off-cpu")
        threads = File(self.file).of(waits.pid)
        self.check_thread(threads["at_futex"][0], "at_futex")

    def test_only_selected_processes_are_walked(self):
        with Waits(self.here) as waits:
            output = self.run_recording("-d", "500ms", "-p", waits.pid)
        self.uses_bpf(output)
        file = File(self.file)
        self.assertEqual({row["tgid"] for row in file.rows.values() if row["stacks"]}, {waits.pid})
        self.assertGreaterEqual(len([row for row in file.rows.values() if row["stacks"]]), 24)

    def test_by_frame_pointers(self):
        with Waits(self.here) as waits:
            self.uses_bpf(self.run_recording("-d", "300ms", "--unwind", "fp"))
        stacks = File(self.file).of(waits.pid)["at_futex"][0]["stacks"]
        self.assertTrue(stacks)
        self.assertTrue(all(names(stack, False) for stack in stacks))

    def test_a_budget_is_kept_and_reported(self):
        output = self.run_recording("-d", "700ms", "--sleepers-freq", "100", "--budget", "0.01%")
        self.assertRegex(output, r"sleepers: \d+ of \d+ passes over all threads were skipped to stay within the budget")
        self.assertRegex(output, r"sleepers: \d+ stacks?.*, \d+ missed")

    def test_a_kill_leaves_nothing(self):
        with Recorder("-d", "60s", "-o", self.file, "--recorders", "sleepers") as recorder:
            pid = recorder.process.pid
            programs = set()
            if not wait_for(lambda: programs.update(lasting_programs(pid)) or programs, seconds=20):
                self.skipTest("needs BPF")
            self.assertTrue(all(map(is_loaded, programs)))
            recorder.process.send_signal(signal.SIGKILL)
            recorder.process.communicate()
        self.assertTrue(wait_for(lambda: not any(map(is_loaded, programs))), programs)
        self.assertEqual([name for name in recording.files_in(self.here) if name.startswith("it")], [])

    def test_an_unreadable_stack_does_not_delay_others(self):
        self.check_thread(self.take_beside_unreadable_thread(self.run_recording, "-d", "4s")["at_pipe"][0], "at_pipe")


class CapturedStacks(Case):
    def test_stacks_of_all_threads(self):
        with Waits(self.here) as waits:
            output = self.capture_stacks()
        file = File(self.file)
        threads = file.of(waits.pid)
        for row in threads["crowd"]:
            self.assertEqual(list(row["stacks"].values()), [1])
        shown = subprocess.run([harness.CTPROF, "show", self.file, "--limit", "0", "--sections", "stacks"], check=True, capture_output=True,
                               text=True).stdout
        self.assertIn("\n## asleep\n", shown)
        lines = re.findall(r"(?m)^ *(\d+) threads?  +sleeps: (.*)$", shown)
        self.assertEqual(sum(int(count) for count, _ in lines), sum(bool(row["stacks"]) for rows in threads.values() for row in rows))
        self.uses_bpf(output)
        crowd = [count for count, stack in lines if "at_condition" in stack]
        self.assertEqual(crowd, ["24"])
        for name in ("at_futex", "at_pipe", "crowd"):
            self.check_thread(threads[name][0], name)

    def test_an_unreadable_stack_does_not_lose_others(self):
        self.check_thread(self.take_beside_unreadable_thread(self.capture_stacks)["at_futex"][0], "at_futex")

    def test_captures_have_no_differences_of_samples(self):
        first = self.here / ("first" + recording.SUFFIX)
        self.capture_stacks()
        self.file.rename(first)
        self.capture_stacks()
        shown = subprocess.run([harness.CTPROF, "show", f"{first}..{self.file}"], check=True, capture_output=True, text=True).stdout
        self.assertNotIn("sleeping_stacks", shown)

    def test_layout_rows_is_refused(self):
        finished = subprocess.run([harness.CTPROF, "capture", "--stacks", "--layout", "rows", "-o", self.file], capture_output=True, text=True,
                                  check=False)
        self.assertEqual(finished.returncode, 2)
        self.assertIn("--stacks requires --layout columns", finished.stderr)


class WithoutBpf(Case):
    def record_namespace(self, *before):
        """Records in a new PID namespace that also has a shell and a sleeping process. Returns the messages and the rows."""
        if not shutil.which("unshare") or not shutil.which("setpriv"):
            self.skipTest("needs unshare and setpriv")
        words = recording.command("-d", "700ms", "-o", self.file, *METRICS, "--recorders", "sleepers")
        finished = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", 'sleep 600 & "$@"; status=$?; kill $!; exit $status', "sh",
                                   *before, *words], capture_output=True, text=True, timeout=recording.TIMEOUT, check=False)
        if "unshare" in finished.stderr:
            self.skipTest(finished.stderr)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertRegex(finished.stderr, r"(?m)^ctprof: sleepers: stacks have only their kernel part, from /proc: .*PID namespace.*$")
        return finished.stderr, File(self.file).rows.values()

    def test_stacks_have_only_their_kernel_part(self):
        """Stacks without their user part are not reported as complete."""
        output, rows = self.record_namespace()
        rows = [row for row in rows if row["stacks"]]
        self.assertTrue(rows)
        for row in rows:
            self.assertEqual(sum(row["stacks"].values()), row["sleeping_samples"])
            for stack in row["stacks"]:
                self.assertEqual(names(stack, False), ["[truncated]"])
                self.assertTrue(names(stack, True))
        self.assertRegex(output, r"sleepers: \d+ stacks?, 0\.0% reach the root \(\d+ without user part\)")
        self.assertNotIn("hidden from ctprof", output)

    def test_an_unreadable_stack_is_a_gap(self):
        """The thread has more privileges than ctprof. It is known to sleep."""
        output, rows = self.record_namespace("setpriv", "--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace")
        row = next(row for row in rows if row["comm"] == "sleep")
        self.assertGreater(row["sleeping_samples"], 2)
        self.assertIsNone(row["sleeping_stacks"])
        self.assertRegex(output, r"stacks of \d+ sleeping threads are hidden from ctprof; stacks of other users' threads require CAP_SYS_PTRACE")

    def test_without_permission_one_sentence_with_a_remedy(self):
        self.here.chmod(0o777)
        for words in (recording.command("-d", "100ms", "-q", "--recorders", "sleepers"), [harness.CTPROF, "capture", "-q", "--stacks"]):
            finished = subprocess.run([*words, "-o", self.file], capture_output=True, text=True, check=False, user=65534, group=65534,
                                      extra_groups=[])
            self.assertEqual(finished.returncode, 2)
            self.assertEqual(finished.stderr.count("\n"), 1, finished.stderr)
            self.assertRegex(finished.stderr, r"cannot start the recorder '[a-z-]+': the kernel lets only CAP_BPF with CAP_PERFMON.*grant it both capabilities; .*CAP_SYS_ADMIN")


class HiddenThreads(Case):
    def test_hidden_threads_have_gaps(self):
        """Some kernels hide threads from BPF programs. A thread that never slept is not reported as hidden, and has the value 0."""
        with harness.busy_process() as busy:
            output = self.run_recording("-d", "500ms")
        self.uses_bpf(output)
        hidden = re.search(r"sleepers: (?:.*; )?this kernel hides (\d+) threads from BPF programs: whether they sleep is unknown", output)
        rows = File(self.file).rows.values()
        unknown = [row for row in rows if row["sleeping_samples"] is None]
        self.assertEqual(len(unknown), int(hidden[1]) if hidden else 0, output)
        for row in unknown:
            self.assertIsNone(row["sleeping_stacks"])
            self.assertEqual(row["stacks"], {})
        self.assertEqual([row["sleeping_samples"] is None for row in rows if row["tgid"] == busy.pid], [False])
        if not hidden:
            self.skipTest("this kernel hides no threads")
        with harness.background_process("sleep", "600") as sleeper:
            output = self.run_recording("-d", "300ms", "-p", f"1,{sleeper.pid}")
        self.assertRegex(output, r"sleepers: (?:.*; )?this kernel hides \d+ threads from BPF programs")
        samples = {row["tgid"]: row["sleeping_samples"] for row in File(self.file).rows.values()}
        self.assertIsNone(samples[1])
        self.assertGreater(samples[sleeper.pid], 0)


if __name__ == "__main__":
    unittest.main()
