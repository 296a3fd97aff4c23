#!/usr/bin/python3
"""Prints line coverage by directory from gcovr's JSON summary.

    coverage.py FILE
"""

import collections
import json
import sys


def directory_of(path):
    """Returns core/compare for core/compare/report/rows.cc, and sdk for all files of the SDK."""
    parts = path.split("/")
    return parts[0] if parts[0] == "sdk" else "/".join(parts[:2])


def main(path):
    with open(path, encoding="utf-8") as file:
        summary = json.load(file)
    covered, total = collections.Counter(), collections.Counter()
    for entry in summary["files"]:
        for name in (directory_of(entry["filename"]), "all"):
            covered[name] += entry["line_covered"]
            total[name] += entry["line_total"]
    for name in sorted(total, key=lambda name: (name == "all", name)):
        if total[name]:
            print(f"{100 * covered[name] / total[name]:5.1f} %  {covered[name]:6} of {total[name]:6} lines  {name}")


main(*sys.argv[1:])
