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
    finished = run([tools.ctprof, "--plugins=taskstats", "capture", "-o", path, "--jobs", "1", "--format", "json"])
    return {"ns": source_cost(path), "collect_ns": finished.json()["collect_ns"], "whole_ns": finished.wall_ns}


def table(results, count):
    def row(name, action, key="ns", ratio_text="", target=""):
        ns, minimum = results[action][key], results[action][f"{key} min"]
        return (name, ms(ns), ms(minimum), f"{ns / count / 1e3:.2f} us", ratio_text, target)

    floor_ratio = f"{ratio(results['capture']['ns'], results['floor']['ns'])} of the floor"
    return [
        ("", "median", "minimum", "per thread", "ratio", "target"),
        row("floor", "floor"),
        row("taskstats in a capture", "capture", ratio_text=floor_ratio, target="at most 1.3"),
        row("collection with listing", "capture", "collect_ns"),
        row("whole capture", "capture", "whole_ns"),
    ]


def bench(tools, repeat, count, directory):
    """Measures a crowd of `count` processes. Needs CAP_NET_ADMIN."""
    path = f"{directory}/taskstats-{count}.ctprof.zst"
    with crowd(tools.idle, "processes", count):
        results = alternate(repeat, {"floor": lambda: floor(tools), "capture": lambda: capture(tools, path)})
    show(f"taskstats of {count:,} processes, one worker, {repeat} rounds", table(results, count))
