#!/usr/bin/python3
"""Names of functions in files that are overwritten, replaced or removed, and in code without a file."""

import collections
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import recording  # noqa: E402
import concurrent_cases  # noqa: E402

CTPROF, ALPHA, BETA = os.environ["CTPROF"], os.environ["MAPPED_ALPHA"], os.environ["MAPPED_BETA"]
WORK = {ALPHA: "alpha_work", BETA: "beta_work"}
FROM_MEMORY = """
import os, sys
program = os.memfd_create("packed")
os.write(program, open(sys.argv[1], "rb").read())
os.execve(program, ["packed", sys.argv[2]], {})
"""
IN_PYTHON = """
import sys, time
def leaf(n):
    return sum(i * i for i in range(n))
def spin(end):
    while time.monotonic() < end:
        leaf(2000)
print("spins", flush=True)
spin(time.monotonic() + float(sys.argv[1]))
"""


def pythons():
    """Returns programs that may be Python 3.12 or newer."""
    named = [shutil.which(f"python3.{minor}") for minor in range(12, 20)]
    return [*filter(None, named), *map(str, sorted(pathlib.Path.home().glob(".pyenv/versions/3.1[2-9]*/bin/python3")))]


def has_perf_frames(python):
    return subprocess.run([python, "-X", "perf", "-c", ""], check=False, capture_output=True).returncode == 0


def walks_stacks():
    """Returns whether the kernel can walk user stacks (x86-64, Linux 6.1)."""
    return platform.machine() == "x86_64" and tuple(map(int, platform.release().split(".")[:2])) >= (6, 1)


class MappedTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.file = self.directory / f"run{recording.SUFFIX}"

    def start(self, *words):
        """Starts a process that prints a line when it is ready, and waits for the line."""
        process = subprocess.Popen([*map(str, words)], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.assertTrue(process.stdout.readline())
        return process

    def record(self, seconds, *more, recorder="on-cpu"):
        return subprocess.Popen(recording.command("--recorders", recorder, "-d", f"{seconds}s", "-o", self.file, *more),
                                stderr=subprocess.PIPE, text=True)

    def finish(self, record):
        messages = record.communicate(timeout=recording.TIMEOUT)[1]
        self.assertEqual(record.returncode, 0, messages)
        return messages

    def stacks(self, process):
        """Returns a map stack -> weight of one process. A stack has the root first; a frame is a function, or a file with an offset."""
        tgids, parts, found = [], collections.defaultdict(list), collections.Counter()
        for line in recording.read_lines(self.file):
            if line["kind"] in ("table", "exited") and line["entity"] == "thread":
                tgids += line["columns"]["tgid"]
            if line["kind"] == "stacks":
                parts[line["part"]].append(line)
        strings = [text for line in parts["strings"] for text in line["text"]]
        paths = [strings[path] for line in parts["modules"] for path in line["path"]]
        frames = ["[truncated]"] + [strings[name] or f"{paths[module]}+{offset:#x}" for line in parts["frames"]
                                    for name, module, offset in zip(line["name"], line["module"], line["offset"])]
        stacks = [()]
        for line in parts["nodes"]:
            for parent, frame in zip(line["parent"], line["frame"]):
                stacks.append((*stacks[parent], frames[frame]))
        for line in parts["weights"]:
            for row, node, weight in zip(line["row"], line["node"], line["weight"]):
                if tgids[row] == process.pid:
                    found[stacks[node]] += weight
        self.assertTrue(found)
        return found

    def share(self, process, function):
        stacks = self.stacks(process)
        return sum(weight for stack, weight in stacks.items() if function in stack) / sum(stacks.values())

    def test_a_program_that_is_overwritten(self):
        program = self.directory / "program"
        shutil.copy(ALPHA, program)
        first = self.start(program, 3)
        record = self.record(6)
        first.wait()
        inode = program.stat().st_ino
        program.write_bytes(pathlib.Path(BETA).read_bytes())
        self.assertEqual(program.stat().st_ino, inode)
        second = self.start(program, 60)
        messages = self.finish(record)
        self.assertEqual(self.share(first, WORK[BETA]), 0)
        self.assertGreater(self.share(second, WORK[BETA]), 0.9)
        self.assertIn(f"cannot name functions of '{program}'", messages)

    def test_a_program_that_is_replaced(self):
        program = self.directory / "program"
        shutil.copy(ALPHA, program)
        first = self.start(program, 3)
        record = self.record(6)
        first.wait()
        program.unlink()
        for number in range(100):  # on some file systems one of them gets the old inode number
            shutil.copy(BETA, self.directory / f"program{number}")
        shutil.copy(BETA, program)
        second = self.start(program, 60)
        self.finish(record)
        self.assertGreater(self.share(first, WORK[ALPHA]), 0.9)
        self.assertGreater(self.share(second, WORK[BETA]), 0.9)

    def test_a_main_thread_that_has_exited(self):
        process = self.start(ALPHA, 60, "leader")
        self.assertTrue(recording.wait_for(lambda: "Z" in pathlib.Path(f"/proc/{process.pid}/stat").read_text("utf-8").rsplit(")", 1)[1]))
        for recorder in ("on-cpu", "off-cpu"):
            self.finish(self.record(1, "--force", "-p", process.pid, recorder=recorder))
            if recorder == "on-cpu":
                self.assertGreater(self.share(process, WORK[ALPHA]), 0.9)
        shown = subprocess.run([CTPROF, "show", self.file, "--format", "json", "--details"], check=True, capture_output=True, text=True)
        self.assertIn("rss_bytes", shown.stdout)
        resident = int(pathlib.Path(f"/proc/{process.pid}/task").joinpath(
            next(tid for tid in os.listdir(f"/proc/{process.pid}/task") if int(tid) != process.pid), "statm").read_text("utf-8").split()[1])
        self.assertGreater(resident, 0)
        screen = subprocess.run([CTPROF, "show", self.file, "--no-pager"], check=True, capture_output=True, text=True).stdout
        row = next(line for line in screen.splitlines() if line.startswith(os.path.basename(ALPHA)))
        self.assertRegex(row.split()[-1], "Mi$|Ki$")

    def test_code_copied_to_anonymous_memory(self):
        process = self.start(ALPHA, 60, "copied")
        self.finish(self.record(1, "-p", process.pid))
        self.assertGreater(self.share(process, WORK[ALPHA]), 0.9)

    def test_a_program_in_memory(self):
        process = self.start(sys.executable, "-c", FROM_MEMORY, ALPHA, 60)
        self.finish(self.record(1, "-p", process.pid))
        self.assertGreater(self.share(process, WORK[ALPHA]), 0.9)
        self.assertFalse([stack for stack in self.stacks(process) if "deleted" in ";".join(stack)])

    def test_a_program_that_was_removed(self):
        program = self.directory / "program"
        shutil.copy(ALPHA, program)
        process = self.start(program, 60)
        program.unlink()
        self.finish(self.record(1, "-p", process.pid))
        self.assertGreater(self.share(process, WORK[ALPHA]), 0.9)
        for form in ("folded", "pprof", "speedscope"):
            out = self.directory / "out"
            subprocess.run([CTPROF, "export", self.file, "--to", form, "-o", out, "--force"], check=True, capture_output=True)
            data = out.read_bytes()
            text = subprocess.run(["gzip", "-dc"], input=data, check=True, capture_output=True).stdout if data[:2] == b"\x1f\x8b" else data
            self.assertNotIn(b"(deleted)", text)

    def start_in_container(self, name, *words):
        """Starts ALPHA on an overlay mount of its own, as a container does. All containers share the lower layer."""
        base = self.directory / name
        lower, upper, work, merged = self.directory / "lower", base / "upper", base / "work", base / "merged"
        for directory in (upper, work, merged):
            directory.mkdir(parents=True)
        mount = f"mount -t overlay overlay -o lowerdir={lower},upperdir={upper},workdir={work} {merged}"
        return self.start("unshare", "--mount", "sh", "-c", f'{mount} && exec {merged}/program "$@"', "sh", *words)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_programs_on_overlays(self):
        (self.directory / "lower").mkdir()
        shutil.copy(ALPHA, self.directory / "lower" / "program")
        first = self.start_in_container("first", 4)
        record = self.record(8, "--freq", "997")
        first.wait()
        second = self.start_in_container("second", 60)
        messages = self.finish(record)
        for process in (first, second):
            self.assertGreater(self.share(process, WORK[ALPHA]), 0.9)
            self.assertGreater(self.share(process, "_start"), 0.9)
        messages = self.finish(self.record(2, "--force", "--freq", "997", "-p", second.pid))
        share = re.search(r"([\d.]+)% unwound in the kernel", messages)
        if walks_stacks():
            self.assertGreater(float(share[1]), 50, messages)

    def test_frames_of_python_for_perf(self):
        python = next(filter(has_perf_frames, pythons()), None)
        if not python:
            self.skipTest("no Python with -X perf (3.12 and newer)")
        process = self.start(python, "-X", "perf", "-c", IN_PYTHON, 60)
        self.finish(self.record(1, "-p", process.pid))
        stacks = self.stacks(process)
        whole = sum(weight for stack, weight in stacks.items() if "[truncated]" not in stack)
        self.assertGreater(whole / sum(stacks.values()), 0.9)
        self.assertTrue([stack for stack in stacks if any(frame.startswith("py::spin:") for frame in stack)])

    def test_frame_pointers_mark_only_real_roots_as_complete(self):
        process = self.start(ALPHA, 60)
        messages = self.finish(self.record(1, "-p", process.pid, "--unwind", "fp"))
        stacks = self.stacks(process)
        ends_at_start = sum(weight for stack, weight in stacks.items() if stack[0] in ("_start", "clone3", "clone"))
        whole = sum(weight for stack, weight in stacks.items() if "[truncated]" not in stack)
        self.assertEqual(whole, ends_at_start)
        if whole == 0:
            self.assertNotIn("all reach the root", messages)


if __name__ == "__main__":
    concurrent_cases.main(jobs=2, alone=["test_programs_on_overlays"])
