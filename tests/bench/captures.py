"""Collection, and the whole capture, beside the floor: the same files read by raw system calls."""

from crowd import crowd
from measure import alternate, ms, ratio, run, show

JOBS = (1, 2)


def floor(tools, jobs):
    return {"ns": run([tools.floor, str(jobs)]).json()["floor_ns"]}


def capture(tools, jobs, path):
    done = run([tools.ctprof, "capture", "-o", path, "--jobs", str(jobs), "--format", "json"])
    return {"ns": done.json()["collect_ns"], "whole_ns": done.wall_ns}


def deeds(tools, paths):
    floors = {f"floor {j}": lambda j=j: floor(tools, j) for j in JOBS}
    captures = {f"capture {j}": lambda j=j, path=path: capture(tools, j, path) for j, path in zip(JOBS, paths)}
    return {**floors, **captures}


def table(figures, count):
    one, two = figures["capture 1"]["ns"], figures["capture 2"]["ns"]
    floor_one, floor_two = figures["floor 1"]["ns"], figures["floor 2"]["ns"]

    def row(name, ns, beside, target):
        return (name, ms(ns), f"{ns / count / 1e3:.1f} us", beside, target)

    return [
        ("", "median", "a thread", "ratio", "target"),
        row("floor, one thread", floor_one, "", ""),
        row("floor, two", floor_two, f"{ratio(floor_one, floor_two)} times faster", ""),
        row("collection, one worker", one, f"{ratio(one, floor_one)} of the floor", "at most 1.25"),
        row("collection, two", two, f"{ratio(one, two)} times faster", "at least 1.5"),
        row("whole capture, one worker", figures["capture 1"]["whole_ns"], "", ""),
        row("whole capture, two", figures["capture 2"]["whole_ns"], "", ""),
    ]


def bench(tools, repeat, kind, count, room):
    """Measures with a crowd of `count`; returns the paths of two captures of it."""
    paths = [f"{room}/{kind}-{count}-{j}.ctprof.zst" for j in JOBS]
    with crowd(tools.idle, kind, count):
        figures = alternate(repeat, deeds(tools, paths))
    what = f"{count:,} processes" if kind == "processes" else f"one process of {count:,} threads"
    show(f"{what}, {repeat} rounds", table(figures, count))
    return paths
