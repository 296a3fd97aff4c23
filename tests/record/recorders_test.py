#!/usr/bin/python3
"""`record --recorders`: its options and messages, and what remains after a kill.

Environment: CTPROF; BAD_PLUGINS, a directory with a recorder that writes invalid records; RING_READER, a program with an io_uring worker."""

import json
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
from recording import Recorder, Window, harness, run, wait_for  # noqa: E402

BAD_PLUGINS = os.path.join(os.environ["BAD_PLUGINS"], "")
PARANOID = pathlib.Path("/proc/sys/kernel/perf_event_paranoid")


# Computes 600 calls deep.
DEEP = """
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
__attribute__((noinline)) static int work(void) { volatile unsigned n = 0; for (int i = 0; i < 300000; ++i) ++n; return n; }
__attribute__((noinline)) static int recurse(int depth) {
  volatile int locals[4];
  locals[0] = depth;
  int sum = depth == 0 ? work() : recurse(depth - 1);
  return sum + locals[0];
}
int main(void) { double end = now() + 1; int sum = 0; while (now() < end) sum += recurse(600); return sum == 1; }
"""

# Replaces itself as often as its argument says.
EXECS = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int count, char** arguments) {
  char rest[16];
  snprintf(rest, sizeof rest, "%d", atoi(arguments[1]) - 1);
  return count == 2 && rest[0] != '-' ? execl("/proc/self/exe", "execs", rest, (char*)0) : 0;
}
"""
# Functions that the kernel calls after it has replaced the memory of the program.
IN_NEW_MEMORY = {"setup_arg_pages_[k]", "elf_load_[k]", "elf_map_[k]", "create_elf_tables_[k]"}


def events_of(pid):
    return recording.files_of_kind(pid, "[perf_event]")


class Case(recording.RecordingCase):
    def run_recording(self, *words):
        finished = run("-d", "500ms", "-o", self.file, "--metrics", "run_time_ns", *words)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        Window(self.file)
        return finished.stderr


class OnCpu(Case):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("needs permission to sample")

    def test_one_line_has_the_counts(self):
        output = self.run_recording("--recorders", "on-cpu", "--freq", "999")
        lines = [line for line in output.splitlines() if "on-cpu:" in line]
        self.assertEqual(len(lines), 1, output)
        self.assertRegex(lines[0], r"^ctprof: on-cpu: \d+ stacks, ([\d.]+%|all) reach the root.*; [\d.]+ ms of CPU time, [\d.]+ MiB$")

    def test_a_time_namespace_keeps_all_samples(self):
        harness.needs_namespaces(self, ["-T"])
        command = recording.command("--recorders", "on-cpu", "-d", "1s", "--metrics", "run_time_ns", "-o", self.file)
        with harness.busy_process() as busy:
            finished = subprocess.run(["unshare", "-T", "--monotonic", "500000", "--boottime", "100000", *command], capture_output=True, text=True,
                                      timeout=recording.TIMEOUT, check=False)
            self.assertEqual(finished.returncode, 0, finished.stderr)
            self.assertGreater(int(re.search(r"on-cpu: (\d+) stacks", finished.stderr)[1]), 20)
        shown = harness.run("show", self.file, "--where", f"tgid == {busy.pid}", "--format", "json", "--metrics", "oncpu_samples")
        self.assertIn('"oncpu_samples"', shown.stdout)

    def test_a_ring_of_one_page_reports_its_losses(self):
        with harness.busy_process():  # an idle CPU has no samples
            output = self.run_recording("--recorders", "on-cpu", "--freq", "4000", "--ring", "4K", "--stack-bytes", "1K")
        self.assertRegex(output, r"\d+ lost.*\(.*\blost on CPU \d+ for [\d.]+ ms at [\d.]+ s")
        represented = re.search(r"samples represent ([\d.]+) of ([\d.]+) s of run time", output)
        self.assertIsNotNone(represented, output)
        self.assertLess(float(represented[1]), float(represented[2]))

    def test_without_cap_ipc_lock_rings_are_smaller(self):
        if not shutil.which("setpriv") or not 0 <= int(PARANOID.read_text()):
            self.skipTest("needs setpriv, and a kernel that limits the ring buffers of processes without CAP_IPC_LOCK")
        finished = subprocess.run(["setpriv", "--bounding-set=-ipc_lock", *recording.command("-d", "100ms", "-o", self.file, "--recorders", "on-cpu",
                                                                                       "--ring", "512M", "--metrics", "run_time_ns")],
                                  capture_output=True, text=True, timeout=recording.TIMEOUT, check=False)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertRegex(finished.stderr, r"rings have \d+ KiB rather than \d+ KiB, because more requires CAP_IPC_LOCK")

    def deepest(self):
        """Returns the number of frames of the deepest stack of the process `deep`. In a line they follow the process, the thread and the mark of
        truncated stacks."""
        folded = harness.run("export", self.file, "--to", "folded", "-o", "-").stdout
        stacks = [line.rsplit(" ", 1)[0].split(";")[2:] for line in folded.splitlines() if line.startswith("deep;")]
        return max(len(stack) - stack.count("[truncated]") for stack in stacks)

    def compile_deep_program(self, *options):
        deep = self.here / "deep"
        (self.here / "deep.c").write_text(DEEP, encoding="ascii")
        subprocess.run(["gcc", "-O1", *options, "-o", deep, self.here / "deep.c"], check=True)
        return deep

    def test_a_stack_is_as_deep_as_requested(self):
        deep = self.compile_deep_program()
        for words, found in (((), 511), (("--max-depth", 5), 5), (("--max-depth", 300), 300), (("--max-depth", 1000), 600)):
            with self.subTest(words):
                self.run_recording("--recorders", "on-cpu", *words, "--force", "--", deep)
                (self.assertEqual if found < 600 else self.assertGreater)(self.deepest(), found)

    def test_a_thread_has_no_user_stack_while_its_program_is_replaced(self):
        program = self.here / "execs"
        (self.here / "execs.c").write_text(EXECS, encoding="ascii")
        subprocess.run(["gcc", "-O1", "-o", program, self.here / "execs.c"], check=True)
        output = self.run_recording("--recorders", "on-cpu", "--freq", "4000", "--", program, "2000")
        if "unwound in the kernel" not in output:
            self.skipTest("needs a kernel that walks user stacks")
        folded = harness.run("export", self.file, "--to", "folded", "-o", "-").stdout
        stacks = [line.rsplit(" ", 1)[0].split(";")[2:] for line in folded.splitlines()]
        replacing = [stack for stack in stacks if IN_NEW_MEMORY & set(stack)]
        self.assertGreater(len(replacing), 0, output)
        with_user_part = [stack for stack in replacing if not all(frame.endswith("_[k]") for frame in stack)]
        self.assertEqual(with_user_part, [])

    def test_frame_pointers_are_followed_within_the_kernels_limit(self):
        most = int(pathlib.Path("/proc/sys/kernel/perf_event_max_stack").read_text(encoding="ascii"))
        finished = run("-d", "100ms", "-o", self.file, "--recorders", "on-cpu", "--unwind", "fp", "--max-depth", most + 1)
        self.assertEqual(finished.returncode, 2)
        self.assertIn(f"--max-depth {most + 1}: the kernel follows frame pointers for at most {most} frames; lower --max-depth, raise "
                      "kernel.perf_event_max_stack, or use --unwind cfi", finished.stderr)
        output = self.run_recording("--recorders", "on-cpu", "--unwind", "fp", "--max-depth", most, "--freq", "999", "--", self.compile_deep_program("-fno-omit-frame-pointer"))
        self.assertIn("with guessed frames", output)

    def test_stack_bytes_limits_copies(self):
        """Uses code without unwind rules, which the kernel does not walk: 600 frames of it need more than 1 KiB, and less than 64 KiB."""
        deep = self.compile_deep_program("-fno-asynchronous-unwind-tables")
        small, large = (self.run_recording("--recorders", "on-cpu", "--freq", "499", "--force", "--stack-bytes", size, "--", deep) for size in ("1K", "64K"))
        cuts = [int(found[1]) if (found := re.search(r"(\d+) longer than the copied part", output)) else 0 for output in (small, large)]
        self.assertGreater(cuts[0], 50, small)
        self.assertLess(cuts[1], cuts[0] / 4, large)

    def test_a_stopped_recorder_reports_its_losses(self):
        with Recorder("-o", self.file, "--recorders", "on-cpu", "--freq", "1000", "--ring", "64K", "--metrics", "run_time_ns") as recorder:
            self.assertTrue(wait_for(lambda: events_of(recorder.process.pid) > 0))
            time.sleep(0.5)
            recorder.signal(signal.SIGSTOP)
            busy = time.monotonic() + 1.5
            while time.monotonic() < busy:
                pass
            recorder.signal(signal.SIGCONT)
            time.sleep(0.2)
            recorder.signal(signal.SIGINT)
            status, output = recorder.finish()
        self.assertEqual(status, 0, output)
        stretches = [float(ms) for ms in re.findall(r"lost on CPU \d+ for ([\d.]+) ms", output)]
        self.assertGreater(sum(stretches), 800, output)

    def test_selected_processes(self):
        taken = {}
        with harness.background_process("sleep", "60") as sleeper, harness.busy_process() as busy:
            for process in sleeper, busy:
                output = self.run_recording("--recorders", "on-cpu", "--freq", "999", "-p", process.pid)
                taken[process] = int(re.search(r"on-cpu: (\d+) stack", output)[1])
        self.assertEqual(taken[sleeper], 0)
        self.assertGreater(taken[busy], 20)

    def test_a_kill_leaves_nothing(self):
        for wait in (0, 0.05, 0.2):
            with Recorder("-d", "60s", "-o", self.file, "--recorders", "on-cpu", "--freq", "4000") as recorder:
                pid = recorder.process.pid
                self.assertTrue(wait_for(lambda pid=pid: events_of(pid) > 0))
                time.sleep(wait)
                recorder.process.kill()
                recorder.process.communicate()
            self.assertEqual(events_of(pid), 0)
            self.assertEqual(recording.files_in(self.here), [])

    def test_an_interrupt_writes_the_window(self):
        with Recorder("-o", self.file, "--recorders", "on-cpu") as recorder:
            pid = recorder.process.pid
            self.assertTrue(wait_for(lambda: events_of(pid) > 0))
            recorder.signal(signal.SIGINT)
            output = recorder.process.communicate()[1]
            self.assertEqual(recorder.process.returncode, 0, output)
        self.assertRegex(output, r"on-cpu: \d+ stack")
        Window(self.file)

    def test_without_permission_one_sentence_with_a_remedy(self):
        if int(PARANOID.read_text()) < 1:
            self.skipTest("kernel.perf_event_paranoid permits every user to sample")
        self.here.chmod(0o777)
        finished = run("-d", "100ms", "-o", self.file, "--recorders", "on-cpu", "-q", user=65534, group=65534, extra_groups=[])
        self.assertEqual(finished.returncode, 2)
        self.assertEqual(finished.stderr.count("\n"), 1, finished.stderr)
        self.assertRegex(finished.stderr, r"cannot start the recorder '[a-z-]+': kernel.perf_event_paranoid is \d.*CAP_PERFMON")


class Workers(Case):
    """Kernel threads of a process, such as io_uring workers, have stacks without user part."""

    def test_their_stacks_are_complete(self):
        if os.geteuid() != 0:
            self.skipTest("needs permission to load BPF programs")
        with subprocess.Popen([os.environ["RING_READER"], "60"], stdout=subprocess.PIPE, text=True) as reader:
            self.addCleanup(reader.wait)
            self.addCleanup(reader.kill)
            if reader.stdout.readline() != "ready\n":
                self.skipTest("this kernel has no io_uring")
            self.run_recording("--recorders", "off-cpu,sleepers", "--offcpu-period", "100us", "-p", reader.pid)
            reader.kill()
        for metric in ("offcpu_stacks", "sleeping_stacks"):
            folded = harness.run("export", self.file, "--to", "folded", "--metric", metric, "-o", "-").stdout
            stacks = [line for line in folded.splitlines() if ";iou-wrk-" in line and "[rest]" not in line]
            self.assertGreater(len(stacks), 0, folded)
            self.assertEqual([stack for stack in stacks if "[truncated]" in stack], [])


class ListedRecorders(unittest.TestCase):
    def test_recorders_are_listed_as_on_request(self):
        plugins = {plugin["name"]: plugin for plugin in json.loads(harness.run("plugins", "--format", "json").stdout)["plugins"]}
        for name in {"on-cpu", "off-cpu", "sleepers"} & plugins.keys():
            states = {(offer["state"], offer["reason"]) for offer in plugins[name]["offers"]}
            self.assertNotIn("fills", {state for state, _ in states})
            if all(state == "also available" for state, _ in states):
                self.assertEqual(states, {("also available", f"on request, by record --recorders {name}")})
                output = harness.run("doctor").stdout
                self.assertIn(f"{name}: fills 0 metrics; records {len(plugins[name]['offers'])} on request", output)


class InvalidRecords(Case):
    def test_an_invalid_record_ends_the_recorder_only(self):
        output = self.run_recording("--recorders", "inconsistent_record", "--plugin-path", BAD_PLUGINS)
        self.assertRegex(output, r"(?m)^ctprof: lies: \d+ stacks?;.*; then it failed: it recorded a stack with NULL instead of a stack$")


class StrictOption(Case):
    def test_strict_reports_a_failed_recorder(self):
        finished = run("-q", "--strict", "-d", "100ms", "-o", self.file, "--metrics", "run_time_ns", "--recorders", "inconsistent_record", "--plugins",
                       "inconsistent_record,procfs-sched", "--plugin-path", BAD_PLUGINS)
        self.assertEqual(finished.returncode, 3, finished.stderr)
        self.assertIn("inconsistent_record: it failed: it recorded a stack with NULL instead of a stack", finished.stderr)
        Window(self.file)


if __name__ == "__main__":
    unittest.main()
