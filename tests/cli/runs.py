#!/usr/bin/python3
"""Unpacks recorded windows of two conditions, in pairs: runs.py KIND DIR PAIRS writes DIR/a/01.ctprof.zst and so on.

The kinds are the archives of tests/statistics/recorded.
"""

import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(os.path.join(HERE, "..", "statistics"))
import recorded  # noqa: E402


def main():
    kind, directory, pairs = sys.argv[1:]
    recorded.unpack(HERE.parent / "statistics" / "recorded" / f"{kind}.tar.xz", pathlib.Path(directory))
    for run in pathlib.Path(directory).glob("[ab]/*"):
        if int(run.name.partition(".")[0]) > int(pairs):
            run.unlink()


main()
