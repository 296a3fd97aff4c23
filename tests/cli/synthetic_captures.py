#!/usr/bin/python3
"""Writes a columns file with a synthetic snapshot or window, with a selected boot and time.

    synthetic_captures.py FILE BOOT AT ROW...             a snapshot, AT seconds after the boot
    synthetic_captures.py FILE BOOT FROM..TO ROW...       a window
    synthetic_captures.py FILE BOOT FROM..TO/COUNT ROW... consecutive windows of equal length

`.ctprof.zst` is appended to FILE; with a leading +, the capture is appended to the existing file. A row is a process with one thread:

    NAME:TID@START RUN      run_time_ns, in seconds; for a window FROM..TO of the counter, or +RUN if it started inside; for several windows
                            FROM..TO~PERCENT: the total of all windows, each varied by up to that percentage

NAME^CGROUP is a name and the path of its cgroup; without any, the capture has no cgroups. TID and START, in seconds after the boot, count up if they are omitted.
"""

import functools
import json
import os
import random
import subprocess
import sys

METRICS = ("tid", "tgid", "pcomm", "comm", "start_time_clock_ticks", "run_time_ns", "process.tgid", "process.pcomm")
SECOND = 10**9


@functools.cache
def registry(has_cgroups):
    """Returns the definitions of these metrics, as ctprof writes them."""
    tree = os.path.join(os.environ["FIXTURES"], "6.12")
    words = ["ctprof", "--rootfs", tree, "capture", "-q", "--layout", "columns", "--metrics", "run_time_ns", "-o", "-"]
    captured = subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout
    header = json.loads(subprocess.run(["zstd", "-dcq"], input=captured, check=True, stdout=subprocess.PIPE).stdout.split(b"\n", 1)[0])
    metrics = [metric for metric in header["registry"]["metrics"] if metric["name"] in METRICS + ("cgroup",) * has_cgroups]
    return {"metrics": metrics, "derived": [], "placeholders": []}, header["gap_names"]


def moment(seconds):
    return {"wall_unix_ns": 1790000000 * SECOND + int(seconds * SECOND), "monotonic_ns": int(seconds * SECOND)}


class Row:
    def __init__(self, word, run, number):
        name, _, rest = word.partition(":")
        self.name, _, self.cgroup = name.partition("^")
        tid, _, start = rest.partition("@")
        self.tid, self.start = int(tid or number), float(start or 1)
        self.born = run.startswith("+")
        base, _, now = run.rpartition("..")
        self.base, self.now = (int(float(text or 0) * SECOND) for text in (base, now))


def tables(rows, is_window):
    ids, names = [row.tid for row in rows], [row.name for row in rows]
    threads = {"tid": ids, "tgid": ids, "pcomm": names, "comm": names, "start_time_clock_ticks": [int(row.start * 100) for row in rows],
               "run_time_ns": [row.now for row in rows]}
    if any(row.cgroup for row in rows):
        threads["cgroup"] = [row.cgroup for row in rows]
    begun = {"bases": {}, "base_gaps": [], "born": [at for at, row in enumerate(rows) if row.born]} if is_window else {}
    thread = {"kind": "table", "entity": "thread", "first_row": 0, "columns": threads, "gaps": []} | begun
    if is_window:
        thread |= {"bases": {"run_time_ns": [row.base for row in rows]}}
    process = {"kind": "table", "entity": "process", "first_row": 0, "columns": {"process.tgid": ids, "process.pcomm": names}, "gaps": []} | begun
    return [thread, process]


def lines_of(boot, when, rows):
    known, gap_names = registry(any(row.cgroup for row in rows))
    opened, _, end = when.rpartition("..")
    header = {"kind": "header", "format": 2, "ctprof": {"tool": "0.1.0", "boot_id": boot, "hostname": "made", "start": moment(float(end)),
                                                        "user_hz": 100},
              "registry": known, "gap_names": gap_names, "tables": {"thread": [len(rows)], "process": [len(rows)]}}
    lines = [header]
    if opened:
        header |= {"window": True, "exited": []}
        lines.append({"kind": "window", "opened": moment(float(opened)), "living": len(rows), "ended_lost": 0, "ended_unseen": 0, "ended_merged": 0,
                      "sees_ends": True, "partial": False, "notes": [], "bases": [{"entity": "thread", "columns": ["run_time_ns"]}]})
    lines += tables(rows, bool(opened))
    lines.append({"kind": "summary", "ctprof": {"end": moment(float(end)), "own_threads": [], "rows_listed": len(rows), "rows_absent": 0,
                                                "cpu_time_ns": 0, "sources": [], "notes": []}})
    return [json.dumps(line, separators=(",", ":")) + "\n" for line in lines]


def add_end(lines):
    end = {"kind": "end", "lines": len(lines) + 1, "bytes": sum(map(len, lines))}
    return [*lines, json.dumps(end, separators=(",", ":")) + "\n"]


def rows_of(words):
    return [Row(word, run, number) for number, (word, run) in enumerate(zip(words[::2], words[1::2]), 1)]


def window_times(run, count, name):
    """Returns FROM..TO of each window."""
    whole, _, percent = run.partition("~")
    begin, end = map(float, whole.split(".."))
    varied = random.Random(name)
    parts = [1 + float(percent or 0) / 100 * varied.uniform(-1, 1) for _ in range(count)]
    ends = [begin + (end - begin) * sum(parts[:at]) / sum(parts) for at in range(count + 1)]
    return [f"{now:.9f}..{then:.9f}" for now, then in zip(ends, ends[1:])]


def windows(when, words, file):
    """Yields the time and the rows of each window."""
    whole, _, count = when.partition("/")
    if not count:
        return [(when, rows_of(words))]
    times = window_times(whole, int(count), "")
    runs = [window_times(run, int(count), file + word) for word, run in zip(words[::2], words[1::2])]
    return [(time, rows_of([part for pair in zip(words[::2], at) for part in pair])) for time, *at in zip(times, *runs)]


def main():
    file, boot, when, *words = sys.argv[1:]
    with open(file.removeprefix("+") + ".ctprof.zst", "ab" if file.startswith("+") else "wb") as made:
        for time, rows in windows(when, words, file):
            for line in add_end(lines_of(boot, time, rows)):
                made.flush()
                subprocess.run(["zstd", "-q", f"--stream-size={len(line)}"], input=line.encode(), stdout=made, check=True)


if __name__ == "__main__":
    main()
