#!/usr/bin/python3
"""Stacks through code without call frame information (libc of musl), of programs compiled by Clang, and from inside vfork(2): they reach the root
and contain the callers.

Environment: CTPROF. Needs musl-gcc for the cases of musl."""

import contextlib
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


class WithoutRules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))

    def stacks(self, compiler, recorder, *arguments):
        """Records the program. Returns a map stack -> weight; a stack has the outermost function first, without marks of guessed functions."""
        program, path = self.home / self.id().rpartition(".")[2], self.home / ("window" + recording.SUFFIX)
        subprocess.run([compiler[0], "-w", "-O2", "-fomit-frame-pointer", "-pthread", *compiler[1:], SOURCE, "-o", program], check=True)
        path.unlink(missing_ok=True)
        with harness.background_process(program, *arguments) as process:
            finished = run("-q", "-d", "2s", "-p", process.pid, "--recorders", recorder, "-o", path)
            self.assertEqual(finished.returncode, 0, finished.stderr)
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        lines = harness.run("export", "-q", path, "--to", "folded", "-o", "-").stdout.splitlines()
        return {tuple(stack.replace("_(guessed)", "").split(";")): int(weight) for stack, weight in (line.rsplit(" ", 1) for line in lines)}

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
    def test_musl_on_cpu(self):
        for options in ([], ["-static"]):
            with self.subTest(options):
                self.check(self.stacks(["musl-gcc", *options], "on-cpu"), {"copies"})

    @unittest.skipUnless(shutil.which("musl-gcc"), "needs musl-gcc")
    def test_musl_waiting(self):
        for options in ([], ["-static"]):
            with self.subTest(options):
                stacks = self.stacks(["musl-gcc", *options], "off-cpu")
                self.check(stacks, {"sleeps", "polls"})
                self.assertTrue(any("waiter" in stack for stack in stacks), stacks)

    @unittest.skipUnless(CLANG, "needs Clang")
    def test_clang(self):
        without_tables = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]
        for options in ([], ["-fno-omit-frame-pointer"], ["-static"], ["-static-pie"], ["-no-pie"], without_tables, [*without_tables, "-static"]):
            with self.subTest(options):
                self.check(self.stacks([CLANG, *options], "on-cpu"), {"copies"})
                self.check(self.stacks([CLANG, *options], "off-cpu"), {"sleeps", "polls"})

    def test_vfork(self):
        self.check(self.stacks(["gcc"], "sleepers", "vfork"), {"spawns"})

    def test_vfork_on_cpu(self):
        stacks = self.stacks(["gcc"], "on-cpu", "vforks")
        inside = {stack: weight for stack, weight in stacks.items() if any("vfork" in function for function in stack)}
        self.check(inside, {"spawns"})


if __name__ == "__main__":
    unittest.main()
