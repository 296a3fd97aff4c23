"""A whole capture, from start to exit, compared with tools for the same purpose: atop's raw log, and ps with many columns.

All of them write files to memory (/dev/shm); the additional cost of fsync on a disk is measured separately.
"""

import contextlib
import os
import pathlib
import tempfile

from crowd import crowd
from measure import alternate, ms, ratio, run, show

COLUMNS = ("pid,tid,ppid,comm,state,class,rtprio,ni,pri,psr,pcpu,time,etimes,start_time,min_flt,maj_flt,vsz,rss,nlwp,wchan:30,sz,"
           "cgroup,user").split(",")
MEMORY = "/dev/shm"
LAYOUTS = ("rows", "columns")
KINDS = {"threads": "one process", "twenty": "20 processes", "processes": "processes of one thread"}

# Minimal speedup over atop and over ps, by layout: for 10,000 or more threads in few processes.
FASTER = {"rows": (5.5, 7.5), "columns": (6, 8)}


def whole(argv):
    return {"ns": run(argv, keep_output=False).wall_ns}


def table_of_threads(path):
    """Runs ps with its output in a file."""
    return {"ns": run(["sh", "-c", 'exec ps -eLo "$1" >"$2"', "sh", ",".join(COLUMNS), path]).wall_ns}


def raw_log(atop, path):
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    return whole([atop, "-w", path, "1", "1"])


def synced(tools, path):
    """Returns the time of fsync for a file on a disk."""
    return {"ns": run([tools.ctprof, "capture", "-o", path, "--format", "json"]).json()["sync_ns"]}


def one_of(crowd_pid):
    """Returns the pid of a process of the crowd. Processes of an earlier crowd with the same name may still exist."""
    children = pathlib.Path(f"/proc/{crowd_pid}/task/{crowd_pid}/children").read_text(encoding="ascii").split()
    return children[-1] if children else str(crowd_pid)


def captures(tools, memory, kind, crowd_pid):
    """Returns the captures to measure: everything in both layouts, and less."""
    def capture(layout, *words):
        return lambda: whole([tools.ctprof, *words, "capture", "--quiet", "--layout", layout, "-o", f"{memory}/{layout}.ctprof.zst"])

    deeds = {layout: capture(layout) for layout in LAYOUTS}
    if kind == "processes":
        deeds["without smaps_rollup"] = capture("columns", "--level", "fast")
    else:
        deeds["one process"] = capture("columns", "--pid", one_of(crowd_pid))
    return deeds


def targets(kind, count):
    """Returns the largest times in ms, by action."""
    if kind == "twenty" and count <= 1_000:
        return dict.fromkeys(LAYOUTS, 15)
    if kind == "processes":
        return {"rows": 45, "columns": 45, "without smaps_rollup": 15} if count <= 1_000 else {}
    if kind == "twenty":
        return {"one process": 10, "columns": 45}
    return {}


def table(figures, kind, count):
    most = targets(kind, count)
    fast = count >= 10_000 and kind != "processes"

    def row(name, deed):
        ns, least = figures[deed]["ns"], figures[deed]["ns min"]
        beside = [""] * len(LAYOUTS)
        if deed in ("ps", "atop"):
            beside = [ratio(ns, figures[layout]["ns"]) + (f" (at least {FASTER[layout][deed == 'ps']})" if fast else "") for layout in LAYOUTS]
        return (name, ms(ns), ms(least), f"{ns / count / 1e3:.2f} us", *beside, f"at most {most[deed]} ms" if deed in most else "")

    names = {"rows": "ctprof capture, rows", "columns": "ctprof capture, columns", "without smaps_rollup": "columns, --level fast",
             "one process": "columns, one process (--pid)", "ps": f"ps -eLo, {len(COLUMNS)} columns", "atop": "atop -w FILE 1 1",
             "sync": "additional: fsync on a disk"}
    head = ("", "median", "minimum", "per thread", *(f"of {layout}" for layout in LAYOUTS), "target")
    return [head, *(row(names[deed], deed) for deed in names if deed in figures)]


def bench(tools, repeat, kind, count, room):
    """Measures a crowd of `count` threads, with all plugins, all metrics and the default number of workers."""
    with tempfile.TemporaryDirectory(prefix="bench-", dir=MEMORY) as memory, crowd(tools.idle, kind, count) as pid:
        deeds = {**captures(tools, memory, kind, pid),
                 "ps": lambda: table_of_threads(f"{memory}/ps"),
                 "sync": lambda: synced(tools, f"{room}/peers.ctprof.zst")}
        if tools.atop:
            deeds["atop"] = lambda: raw_log(tools.atop, f"{memory}/atop")
        figures = alternate(repeat, deeds)
    show(f"Peers: {count:,} threads, {KINDS[kind]}, {repeat} rounds", table(figures, kind, count))
