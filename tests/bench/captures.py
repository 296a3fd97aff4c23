"""Collection, and the whole capture, compared with the floor: reading the same files with raw system calls."""

from crowd import crowd
from measure import alternate, ms, ratio, run, show

JOBS = (1, 2)


def floor(tools, jobs):
    return {"ns": run([tools.floor, str(jobs)]).json()["floor_ns"]}


def capture(tools, jobs, path):
    done = run([tools.ctprof, "--plugins=procfs-sched", "capture", "-o", path, "--jobs", str(jobs), "--format", "json"])
    return {"ns": done.json()["collect_ns"], "whole_ns": done.wall_ns}


def deeds(tools, paths):
    floors = {f"floor {j}": lambda j=j: floor(tools, j) for j in JOBS}
    captures = {f"capture {j}": lambda j=j, path=path: capture(tools, j, path) for j, path in zip(JOBS, paths)}
    return {**floors, **captures}


def table(figures, count):
    def row(name, deed, figure="ns", beside="", target=""):
        ns, least = figures[deed][figure], figures[deed][f"{figure} min"]
        return (name, ms(ns), ms(least), f"{ns / count / 1e3:.1f} us", beside, target)

    def times(slow, fast):
        return f"{ratio(figures[slow]['ns'], figures[fast]['ns'])} times faster"

    of_floor = f"{ratio(figures['capture 1']['ns'], figures['floor 1']['ns'])} of the floor"
    return [
        ("", "median", "minimum", "per thread", "ratio", "target"),
        row("floor, one thread", "floor 1"),
        row("floor, two", "floor 2", beside=times("floor 1", "floor 2")),
        row("collection, one worker", "capture 1", beside=of_floor, target="at most 1.25"),
        row("collection, two", "capture 2", beside=times("capture 1", "capture 2"), target="at least 1.5"),
        row("whole capture, one worker", "capture 1", "whole_ns"),
        row("whole capture, two", "capture 2", "whole_ns"),
    ]


def bench(tools, repeat, kind, count, room):
    """Measures a crowd of `count` threads. Returns the paths of two captures of it."""
    paths = [f"{room}/{kind}-{count}-{j}.ctprof.zst" for j in JOBS]
    with crowd(tools.idle, kind, count):
        figures = alternate(repeat, deeds(tools, paths))
    what = f"{count:,} processes" if kind == "processes" else f"one process of {count:,} threads"
    show(f"{what}, {repeat} rounds", table(figures, count))
    return paths
