#!/usr/bin/python3
"""Stacks through code without call frame information (libc of musl), of programs compiled by Clang, and from inside vfork(2): they reach the root
and contain the callers.

Environment: CTPROF. Needs musl-gcc for the cases of musl."""

import collections
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import recording  # noqa: E402
from recording import harness, run  # noqa: E402

SOURCE = pathlib.Path(__file__).parent / "without_rules.c"
CUT = "[truncated]"
CLANG = shutil.which("clang-14") or shutil.which("clang")
WITHOUT_TABLES = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]


class WithoutRules(unittest.TestCase):
    def setUp(self):
        self.home = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def start(self, name, compiler, *arguments):
        """Compiles the program, and runs it until the end of the test."""
        program = self.home / name
        subprocess.run([compiler[0], "-w", "-O2", "-fomit-frame-pointer", "-pthread", *compiler[1:], SOURCE, "-o", program], check=True)
        return self.enterContext(harness.background_process(program, *arguments))

    def record(self, processes, length, recorders):
        """Records the processes. Returns a map recorder -> name of the process -> stack -> weight; a stack has the outermost function first, without
        marks of guessed functions."""
        path = self.home / ("window" + recording.SUFFIX)
        finished = run("-q", "-d", length, "-p", ",".join(str(process.pid) for process in processes), "--recorders", ",".join(recorders), "-o", path)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return {recorder: self.stacks(path, recording.STACK_METRICS[recorder]) for recorder in recorders}

    @staticmethod
    def stacks(path, metric):
        found = collections.defaultdict(collections.Counter)
        for line in harness.run("export", "-q", path, "--to", "folded", "--metric", metric, "-o", "-").stdout.splitlines():
            stack, weight = line.rsplit(" ", 1)
            process, *functions = stack.replace("_(guessed)", "").split(";")
            found[process][tuple(functions)] += int(weight)
        return found

    def stacks_of_each(self, compiler, sets_of_options, length):
        """Runs a program for each set of options, all at the same time. Yields the options, and the stacks by recorder."""
        names = [f"program{number}" for number in range(len(sets_of_options))]
        processes = [self.start(name, [compiler, *options]) for name, options in zip(names, sets_of_options)]
        recorded = self.record(processes, length, ["on-cpu", "off-cpu"])
        for name, options in zip(names, sets_of_options):
            yield options, {recorder: stacks[name] for recorder, stacks in recorded.items()}

    def check(self, stacks, callers):
        total = sum(stacks.values())
        whole = sum(weight for stack, weight in stacks.items() if CUT not in stack)
        self.assertGreater(total, 0)
        self.assertGreaterEqual(whole, 0.98 * total, stacks)
        for caller in callers:
            found = [stack for stack in stacks if caller in stack]
            self.assertTrue(found, (caller, stacks))
            for stack in found:
                self.assertEqual(stack[stack.index(caller) - 1], "main", stack)

    @unittest.skipUnless(shutil.which("musl-gcc"), "needs musl-gcc")
    def test_musl(self):
        for options, stacks in self.stacks_of_each("musl-gcc", [[], ["-static"]], "3s"):
            with self.subTest(options):
                self.check(stacks["on-cpu"], {"copies"})
                self.check(stacks["off-cpu"], {"sleeps", "polls"})
                self.assertTrue(any("waiter" in stack for stack in stacks["off-cpu"]), stacks["off-cpu"])

    @unittest.skipUnless(CLANG, "needs Clang")
    def test_clang(self):
        sets = [[], ["-fno-omit-frame-pointer"], ["-static"], ["-static-pie"], ["-no-pie"], WITHOUT_TABLES, [*WITHOUT_TABLES, "-static"]]
        for options, stacks in self.stacks_of_each(CLANG, sets, "6s"):
            with self.subTest(options):
                self.check(stacks["on-cpu"], {"copies"})
                self.check(stacks["off-cpu"], {"sleeps", "polls"})

    def test_vfork(self):
        process = self.start("spawner", ["gcc"], "vfork")
        self.check(self.record([process], "2s", ["sleepers"])["sleepers"]["spawner"], {"spawns"})

    def test_vfork_on_cpu(self):
        process = self.start("spawner", ["gcc"], "vforks")
        stacks = self.record([process], "2s", ["on-cpu"])["on-cpu"]["spawner"]
        inside = {stack: weight for stack, weight in stacks.items() if any("vfork" in function for function in stack)}
        self.check(inside, {"spawns"})


if __name__ == "__main__":
    unittest.main()
