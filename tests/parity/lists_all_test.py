#!/usr/bin/python3
"""Checks that a capture lists every thread that `ls` lists, except those that started or exited meanwhile."""

import os
import subprocess
import unittest

import file_json
import harness
import plain_reader

TICKS = os.sysconf("SC_CLK_TCK")


def ls():
    """Returns (tgid, tid) of each thread that `ls -d /proc/[0-9]*/task/*` lists."""
    output = subprocess.run("ls -d /proc/[0-9]*/task/*", shell=True, capture_output=True, check=False).stdout
    paths = [line.split(b"/") for line in output.split(b"\n") if line]
    return {(int(path[2]), int(path[4])) for path in paths if path[4].isdigit()}


def starts(threads):
    """Returns the start time of each thread that still exists, because the kernel can reuse a tid."""
    tree = plain_reader.Tree("/")
    found = {}
    for tgid, tid in threads:
        text = tree.read(f"{tgid}/task/{tid}/stat")
        if isinstance(text, bytes) and text:
            found[tgid, tid] = int(plain_reader.parse_stat(text)[22])
    return found


def ticks_now():
    with open("/proc/uptime", encoding="ascii") as file:
        return int(float(file.read().split()[0]) * TICKS)


class ListedThreads(unittest.TestCase):
    longMessage = False

    def test_lists_what_ls_lists(self):
        with harness.scratch() as directory, harness.Helper("SLEEPERS", cwd=directory) as sleepers:
            path = os.path.join(directory, "all.ctprof.zst")
            start_ticks = ticks_now()  # a thread that existed by then and is still readable later must be in `before`
            before = starts(ls())
            harness.capture(path)
            after = starts(ls())
            captured = file_json.load(path).threads
        stayed = {key for key, start in before.items() if after.get(key) == start}
        self.assertEqual(stayed - set(captured), set(), "threads that existed all the time are missing in the file")
        self.assertEqual(sum(tgid == sleepers.pid for tgid, _ in stayed), 41)

        invented = [key for key, row in captured.items()
                    if key not in before and key not in after and row["start_time_clock_ticks"] < start_ticks - 1]
        self.assertEqual(invented, [], "threads that never existed")

    def test_rows_are_ordered_and_unique(self):
        with harness.scratch() as directory:
            path = os.path.join(directory, "all.ctprof.zst")
            harness.capture(path)
            rows = [(row["tgid"], row["tid"]) for row in file_json.load(path).document["threads"]]
        self.assertEqual(rows, sorted(set(rows)))


if __name__ == "__main__":
    harness.main()
