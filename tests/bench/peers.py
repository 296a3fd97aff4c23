"""A whole capture, from start to exit, beside the tools that people take for it: atop's raw log, and ps with many columns.

Files go to memory (/dev/shm), for all three alike; what fsync adds on a disk is measured apart.
"""

import contextlib
import os
import tempfile

from crowd import crowd
from measure import alternate, ms, ratio, run, show

COLUMNS = ("pid,tid,ppid,comm,state,class,rtprio,ni,pri,psr,pcpu,time,etimes,start_time,min_flt,maj_flt,vsz,rss,nlwp,wchan:30,sz,"
           "cgroup,user").split(",")
MEMORY = "/dev/shm"


def whole(argv):
    return {"ns": run(argv, keep_output=False).wall_ns}


def table_of_threads(path):
    """By ps, into a file."""
    return {"ns": run(["sh", "-c", 'exec ps -eLo "$1" >"$2"', "sh", ",".join(COLUMNS), path]).wall_ns}


def raw_log(atop, path):
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    return whole([atop, "-w", path, "1", "1"])


def synced(tools, path):
    """What a file on a disk waits for."""
    return {"ns": run([tools.ctprof, "capture", "-o", path, "--format", "json"]).json()["sync_ns"]}


def table(figures, count):
    def row(name, deed, target=""):
        ns, least = figures[deed]["ns"], figures[deed]["ns min"]
        beside = f"{ratio(ns, figures['ctprof']['ns'])} of ctprof" if target else ""
        return (name, ms(ns), ms(least), f"{ns / count / 1e3:.2f} us", beside, target)

    large = count >= 10_000
    rows = [("", "median", "least", "a thread", "ratio", "target"), row("ctprof capture", "ctprof"),
            row(f"ps -eLo, {len(COLUMNS)} columns", "ps", "at least 8" if large else "more than 1")]
    if "atop" in figures:
        rows.append(row("atop -w FILE 1 1", "atop", "at least 6" if large else "more than 1"))
    return [*rows, row("fsync, on a disk, besides", "sync")]


def bench(tools, repeat, count, room):
    """Measures with a crowd of `count` threads of one process, all plugins and all metrics, as many workers as ctprof takes by itself."""
    with tempfile.TemporaryDirectory(prefix="bench-", dir=MEMORY) as memory, crowd(tools.idle, "threads", count):
        deeds = {"ctprof": lambda: whole([tools.ctprof, "capture", "--quiet", "-o", f"{memory}/peers.ctprof.zst"]),
                 "ps": lambda: table_of_threads(f"{memory}/ps"),
                 "sync": lambda: synced(tools, f"{room}/peers.ctprof.zst")}
        if tools.atop:
            deeds["atop"] = lambda: raw_log(tools.atop, f"{memory}/atop")
        figures = alternate(repeat, deeds)
    show(f"Peers: {count:,} threads, {repeat} rounds", table(figures, count))
