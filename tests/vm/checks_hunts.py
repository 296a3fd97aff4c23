"""Checks a hunt that needs the memory controller. The first screen of a window, and of a comparison of two windows, must show a program that
reads a file repeatedly and the changed limit because of which it now reads from the disk.

In scope:       checks on the windows of guest/hunts.sh.
Out of scope:   hunts that work on any host (tests/hunts).
"""

import os
import subprocess
import sys

from image import HERE

sys.path.append(os.path.join(HERE, "..", "hunts"))
from hunt_screens import Screen  # noqa: E402  pylint: disable=wrong-import-position

READER = "hunt-reader"
SETTING_LINE = "/vm/hunt cgroup.memory.high max → 8.000MiB"
MIN_READ_RATE = 1 << 20  # per second; even an emulated machine reads more


def read_screen(output, command, *names):
    paths = [os.path.join(output.out, "hunts", f"{name}.ctprof.zst") for name in names]
    finished = subprocess.run([output.ctprof, command, *paths], capture_output=True, text=True, check=False)
    return Screen(finished.stdout + finished.stderr)


def check_screen(first_screen, is_compared):
    read = first_screen.cell(READER, "read/s")
    is_shown = read and read.after > MIN_READ_RATE and (not is_compared or read.before < MIN_READ_RATE)
    wrong = [] if first_screen.has_sentence(SETTING_LINE) else [f"not shown: {SETTING_LINE}"]
    wrong += [] if is_shown else [f"not shown: {READER} reads"]
    return wrong and wrong + first_screen.lines


def memory_high(output):
    failed = [name for name in ("free", "limited") if output.notes.get(f"hunt-{name}") != "0"]
    if failed:
        return [f"record {name} failed: {output.text(f'hunts/{name}.log')}" for name in failed]
    return check_screen(read_screen(output, "show", "limited"), False) + check_screen(read_screen(output, "compare", "free", "limited"), True)


CHECKS = {"the first screen shows memory.high": memory_high}
