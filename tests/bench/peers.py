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
MIN_SPEEDUPS = {"rows": (5.5, 7.5), "columns": (6, 8)}


def run_whole(argv):
    return {"ns": run(argv, keep_output=False).wall_ns}


def run_ps(path):
    """Runs ps with its output in a file."""
    return {"ns": run(["sh", "-c", 'exec ps -eLo "$1" >"$2"', "sh", ",".join(COLUMNS), path]).wall_ns}


def run_atop(atop, path):
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    return run_whole([atop, "-w", path, "1", "1"])


def measure_sync(tools, path):
    """Returns the time of fsync for a file on a disk."""
    return {"ns": run([tools.ctprof, "capture", "-o", path, "--format", "json"]).json()["sync_ns"]}


def any_member(crowd_pid):
    """Returns the pid of a process of the crowd. Processes of an earlier crowd with the same name may still exist."""
    children = pathlib.Path(f"/proc/{crowd_pid}/task/{crowd_pid}/children").read_text(encoding="ascii").split()
    return children[-1] if children else str(crowd_pid)


def make_captures(tools, memory, kind, crowd_pid):
    """Returns the captures to measure: everything in both layouts, and less."""
    def capture(layout, *words):
        return lambda: run_whole([tools.ctprof, *words, "capture", "--quiet", "--layout", layout, "-o", f"{memory}/{layout}.ctprof.zst"])

    actions = {layout: capture(layout) for layout in LAYOUTS}
    if kind == "processes":
        actions["without smaps_rollup"] = capture("columns", "--level", "fast")
    else:
        actions["one process"] = capture("columns", "--pid", any_member(crowd_pid))
    return actions


def time_limits(kind, count):
    """Returns the largest times in ms, by action."""
    if kind == "twenty" and count <= 1_000:
        return dict.fromkeys(LAYOUTS, 15)
    if kind == "processes":
        return {"rows": 45, "columns": 45, "without smaps_rollup": 15} if count <= 1_000 else {}
    if kind == "twenty":
        return {"one process": 10, "columns": 45}
    return {}


def table(results, kind, count):
    limits = time_limits(kind, count)
    has_speedup_targets = count >= 10_000 and kind != "processes"

    def row(name, action):
        ns, minimum = results[action]["ns"], results[action]["ns min"]
        ratio_texts = [""] * len(LAYOUTS)
        if action in ("ps", "atop"):
            ratio_texts = [ratio(ns, results[layout]["ns"]) + (f" (at least {MIN_SPEEDUPS[layout][action == 'ps']})" if has_speedup_targets else "") for layout in LAYOUTS]
        return (name, ms(ns), ms(minimum), f"{ns / count / 1e3:.2f} us", *ratio_texts, f"at most {limits[action]} ms" if action in limits else "")

    names = {"rows": "ctprof capture, rows", "columns": "ctprof capture, columns", "without smaps_rollup": "columns, --level fast",
             "one process": "columns, one process (--pid)", "ps": f"ps -eLo, {len(COLUMNS)} columns", "atop": "atop -w FILE 1 1",
             "sync": "additional: fsync on a disk"}
    header = ("", "median", "minimum", "per thread", *(f"of {layout}" for layout in LAYOUTS), "target")
    return [header, *(row(names[action], action) for action in names if action in results)]


def bench(tools, repeat, kind, count, directory):
    """Measures a crowd of `count` threads, with all plugins, all metrics and the default number of workers."""
    with tempfile.TemporaryDirectory(prefix="bench-", dir=MEMORY) as memory, crowd(tools.idle, kind, count) as pid:
        actions = {**make_captures(tools, memory, kind, pid),
                   "ps": lambda: run_ps(f"{memory}/ps"),
                   "sync": lambda: measure_sync(tools, f"{directory}/peers.ctprof.zst")}
        if tools.atop:
            actions["atop"] = lambda: run_atop(tools.atop, f"{memory}/atop")
        results = alternate(repeat, actions)
    show(f"Peers: {count:,} threads, {KINDS[kind]}, {repeat} rounds", table(results, kind, count))
