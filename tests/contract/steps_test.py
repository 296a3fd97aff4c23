"""core/compare is made of steps, and each includes only itself and those before it."""

import pathlib
import re
import sys

STEPS = ["asked", "grouping", "figures", "evidence", "report"]


def included(file):
    return re.findall(r'#include "core/compare/(\w+)/', file.read_text())


def main():
    room = pathlib.Path(sys.argv[1])
    back = [f"{file} includes {step}" for at, name in enumerate(STEPS) for file in sorted((room / name).iterdir())
            for step in included(file) if STEPS.index(step) > at]
    outside = [str(file) for file in room.glob("*.[ch]*")]
    assert not back, back
    assert not outside, f"in no step: {outside}"
    assert all(any((room / name).iterdir()) for name in STEPS)


main()
