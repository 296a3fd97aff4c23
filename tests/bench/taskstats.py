"""The cost of the taskstats source, compared with its floor: the same requests over a raw socket, whose answers are only counted."""

import json
import subprocess

from crowd import crowd
from measure import alternate, ms, ratio, run, show


def floor(tools):
    return {"ns": run([tools.taskstats_floor]).json()["floor_ns"]}


def source_cost(path):
    """Returns the time of the source that the snapshot contains."""
    text = subprocess.run(["zstd", "-dcq", "--", path], capture_output=True, check=True).stdout
    sources = json.loads(text)["ctprof"]["sources"]
    return next(source["busy_ns"] for source in sources if source["plugin"] == "taskstats")


def capture(tools, path):
    done = run([tools.ctprof, "--plugins=taskstats", "capture", "-o", path, "--jobs", "1", "--format", "json"])
    return {"ns": source_cost(path), "collect_ns": done.json()["collect_ns"], "whole_ns": done.wall_ns}


def table(figures, count):
    def row(name, deed, figure="ns", beside="", target=""):
        ns, least = figures[deed][figure], figures[deed][f"{figure} min"]
        return (name, ms(ns), ms(least), f"{ns / count / 1e3:.2f} us", beside, target)

    of_floor = f"{ratio(figures['capture']['ns'], figures['floor']['ns'])} of the floor"
    return [
        ("", "median", "minimum", "per thread", "ratio", "target"),
        row("floor", "floor"),
        row("taskstats in a capture", "capture", beside=of_floor, target="at most 1.3"),
        row("collection with listing", "capture", "collect_ns"),
        row("whole capture", "capture", "whole_ns"),
    ]


def bench(tools, repeat, count, room):
    """Measures a crowd of `count` processes. Needs CAP_NET_ADMIN."""
    path = f"{room}/taskstats-{count}.ctprof.zst"
    with crowd(tools.idle, "processes", count):
        figures = alternate(repeat, {"floor": lambda: floor(tools), "capture": lambda: capture(tools, path)})
    show(f"taskstats of {count:,} processes, one worker, {repeat} rounds", table(figures, count))
