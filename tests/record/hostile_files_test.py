#!/usr/bin/python3
"""Programs with hostile files neither block a recording nor lose the stacks of other programs.

Each file has a page of code that loops, and call frame information that causes minutes of work: long CIEs that every function refers to,
CFI programs that are executed from their beginning for each address, and more functions than the limit. Environment: CTPROF;
HOSTILE_COPIES, the number of programs for each kind of file (1)."""

import ctypes
import mmap
import os
import pathlib
import struct
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import recording  # noqa: E402
from recording import harness, run  # noqa: E402

COPIES = int(os.environ.get("HOSTILE_COPIES", "1"))
CODE_AT, CODE = 4096, b"\xeb\xfe" * 2048  # jmp to itself
# Seconds. A recording ends within ten seconds after its window; without limits it took 90 and more.
LONGEST = 60


def entry(body):
    body += b"\0" * (-len(body) % 4)
    return struct.pack("<I", len(body)) + body


def common(letters=b"", program=b""):
    return entry(struct.pack("<I", 0) + b"\1" + letters + b"\0\1\x78\x10" + (b"\0" if letters else b"") + program)


def function(at, start=CODE_AT, has_data=False, program=b""):
    return entry(struct.pack("<IQQ", at + 4, start, len(CODE)) + (b"\0" if has_data else b"") + program)


def functions(first, count, **of_each):
    """Returns the first entry, and `count` functions that refer to it."""
    size = len(function(0, **of_each))
    return first + b"".join(function(len(first) + i * size, **of_each) for i in range(count))


FRAMES = {
    "common": lambda: functions(common(b"z" + b"B" * (8 << 20)), 60_000, has_data=True),
    "numbers": lambda: functions(common(program=b"\x0e" + b"\x80" * (1 << 20)), 20_000),
    "programs": lambda: functions(common(program=b"\x0c\x07\x08\x90\x01"), 500, program=b"\x0a\x0b" * (30 << 10)),
    "many": lambda: functions(common(), 1 << 20, start=1 << 30),  # none of them contains the code
}


def elf(frames):
    """Returns an ELF file with `frames` as .eh_frame, and without .eh_frame_hdr."""
    names = b"\0.eh_frame\0.shstrtab\0"
    frames_at = CODE_AT + len(CODE)
    names_at = frames_at + len(frames)
    sections_at = (names_at + len(names) + 7) & ~7

    def section(name, kind, flags, at, size):
        return struct.pack("<IIQQQQIIQQ", name, kind, flags, at if flags else 0, at, size, 0, 0, 1, 0)
    head = b"\x7fELF\2\1\1" + b"\0" * 9 + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, CODE_AT, 64, sections_at, 0, 64, 56, 2, 64, 3, 2)
    head += struct.pack("<IIQQQQQQ", 1, 5, CODE_AT, CODE_AT, CODE_AT, len(CODE), len(CODE), 4096)
    head += struct.pack("<IIQQQQQQ", 1, 4, frames_at, frames_at, frames_at, len(frames), len(frames), 4096)
    content = head.ljust(CODE_AT, b"\0") + CODE + frames + names
    return content.ljust(sections_at, b"\0") + section(0, 0, 0, 0, 0) + section(1, 1, 2, frames_at, len(frames)) + section(
        11, 3, 0, names_at, len(names))


def spin(path):
    """Runs the code of the file forever."""
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    with open(path, "rb") as file:
        code = libc.mmap(None, len(CODE), mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_PRIVATE, file.fileno(), CODE_AT)
    print("ready", flush=True)
    ctypes.CFUNCTYPE(None)(code)()


@unittest.skipUnless(os.uname().machine == "x86_64" and os.geteuid() == 0, "needs x86-64 and permission to sample")
class HostileFiles(unittest.TestCase):
    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.home = pathlib.Path(scratch.name)

    def start(self, path):
        process = subprocess.Popen([sys.executable, __file__, "spin", str(path)], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "ready\n")

    def test_a_recording_ends_and_has_other_stacks(self):
        for kind, frames in FRAMES.items():
            content = elf(frames())
            for copy in range(COPIES):
                path = self.home / f"{kind}{copy}.so"
                path.write_bytes(content)
                self.start(path)
        path = self.home / ("x" + recording.SUFFIX)
        with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
            before = time.monotonic()
            finished = run("-d", "2s", "--recorders", "on-cpu", "--metrics", "run_time_ns", "-o", path)
            took = time.monotonic() - before
            busy.kill()
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertLess(took, LONGEST)
        self.assertRegex(finished.stderr, r"cannot unwind all stacks in .*/many\d\.so'.*: call frame information exceeds the work limit of one run")
        shown = harness.run("export", path, "--to", "folded", "-o", "-")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        of_busy = [line for line in shown.stdout.splitlines() if "PyEval_EvalCode" in line or "Py_RunMain" in line]
        self.assertTrue(of_busy, "no stack of the interpreter")


if __name__ == "__main__":
    if sys.argv[1:2] == ["spin"]:
        spin(sys.argv[2])
    unittest.main()
