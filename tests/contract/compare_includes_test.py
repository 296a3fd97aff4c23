"""Checks that each step of core/compare includes only headers of itself and of earlier steps."""

import pathlib
import re
import sys

STEPS = ["request", "grouping", "figures", "evidence", "report"]


def find_includes(file):
    return re.findall(r'#include "core/compare/(\w+)/', file.read_text())


def main():
    directory = pathlib.Path(sys.argv[1])
    back = [f"{file} includes {step}" for at, name in enumerate(STEPS) for file in sorted((directory / name).iterdir())
            for step in find_includes(file) if STEPS.index(step) > at]
    outside = [str(file) for file in directory.glob("*.[ch]*")]
    assert not back, back
    assert not outside, f"not in a step: {outside}"
    assert all(any((directory / name).iterdir()) for name in STEPS)


main()
