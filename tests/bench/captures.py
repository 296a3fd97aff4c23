"""Collection, and the whole capture, compared with the floor: reading the same files with raw system calls."""

from crowd import crowd
from measure import alternate, ms, ratio, run, show

JOBS = (1, 2)


def floor(tools, jobs):
    return {"ns": run([tools.floor, str(jobs)]).json()["floor_ns"]}


def capture(tools, jobs, path):
    finished = run([tools.ctprof, "--plugins=procfs-sched", "capture", "-o", path, "--jobs", str(jobs), "--format", "json"])
    return {"ns": finished.json()["collect_ns"], "whole_ns": finished.wall_ns}


def make_actions(tools, paths):
    floors = {f"floor {j}": lambda j=j: floor(tools, j) for j in JOBS}
    captures = {f"capture {j}": lambda j=j, path=path: capture(tools, j, path) for j, path in zip(JOBS, paths)}
    return {**floors, **captures}


def table(results, count):
    def row(name, action, key="ns", ratio_text="", target=""):
        ns, minimum = results[action][key], results[action][f"{key} min"]
        return (name, ms(ns), ms(minimum), f"{ns / count / 1e3:.1f} us", ratio_text, target)

    def speedup(slow, fast):
        return f"{ratio(results[slow]['ns'], results[fast]['ns'])} times faster"

    floor_ratio = f"{ratio(results['capture 1']['ns'], results['floor 1']['ns'])} of the floor"
    return [
        ("", "median", "minimum", "per thread", "ratio", "target"),
        row("floor, one thread", "floor 1"),
        row("floor, two", "floor 2", ratio_text=speedup("floor 1", "floor 2")),
        row("collection, one worker", "capture 1", ratio_text=floor_ratio, target="at most 1.25"),
        row("collection, two", "capture 2", ratio_text=speedup("capture 1", "capture 2"), target="at least 1.5"),
        row("whole capture, one worker", "capture 1", "whole_ns"),
        row("whole capture, two", "capture 2", "whole_ns"),
    ]


def bench(tools, repeat, kind, count, directory):
    """Measures a crowd of `count` threads. Returns the paths of two captures of it."""
    paths = [f"{directory}/{kind}-{count}-{j}.ctprof.zst" for j in JOBS]
    with crowd(tools.idle, kind, count):
        results = alternate(repeat, make_actions(tools, paths))
    title = f"{count:,} processes" if kind == "processes" else f"one process of {count:,} threads"
    show(f"{title}, {repeat} rounds", table(results, count))
    return paths
