"""A hunt that needs a controller of memory: who reads a file again and again, and why it now has to read it from the disk, stand on the
first screen of a window, and of two that are compared.

What is here:   checks on the windows of guest/hunts.sh.
What is not:    hunts that any host can have (tests/hunts).
"""

import os
import subprocess
import sys

from image import HERE

sys.path.append(os.path.join(HERE, "..", "hunts"))
from scene import Screen  # noqa: E402  pylint: disable=wrong-import-position

READER = "hunt-reader"
SETTING = "/vm/hunt cgroup.memory.high max → 8.000MiB"
MUCH_READ = 1 << 20  # by the second; even an emulated machine does


def screen(left, verb, *names):
    paths = [os.path.join(left.out, "hunts", f"{name}.ctprof.zst") for name in names]
    done = subprocess.run([left.ctprof, verb, *paths], capture_output=True, text=True, check=False)
    return Screen(done.stdout + done.stderr)


def wrong_on(shown, is_compared):
    read = shown.cell(READER, "read/s")
    is_told = read and read.after > MUCH_READ and (not is_compared or read.before < MUCH_READ)
    wrong = [] if shown.says(SETTING) else [f"not told: {SETTING}"]
    wrong += [] if is_told else [f"not told: {READER} reads"]
    return wrong and wrong + shown.lines


def memory_high(left):
    failed = [name for name in ("free", "limited") if left.notes.get(f"hunt-{name}") != "0"]
    if failed:
        return [f"record {name} failed: {left.text(f'hunts/{name}.log')}" for name in failed]
    return wrong_on(screen(left, "show", "limited"), False) + wrong_on(screen(left, "compare", "free", "limited"), True)


CHECKS = {"the first screen tells of memory.high": memory_high}
