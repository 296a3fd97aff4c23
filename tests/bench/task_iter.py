"""The cost of task-iter, compared with its floor (the same pass, records discarded) and with the files and netlink messages of the same metrics."""

from crowd import crowd
from measure import alternate, ms, ratio, run, show

FILES = "procfs-sched,taskstats"


def floor(tools):
    facts = run([tools.task_iter_floor]).json()
    return {"ns": facts["pass_ns"], "load_ns": facts["load_ns"]}


def capture(tools, plugins, path):
    finished = run([tools.ctprof, f"--plugins={plugins}", "capture", "-o", path, "--jobs", "1", "--no-sync", "--format", "json"])
    facts = finished.json()
    return {"ns": facts["collect_ns"], "whole_ns": finished.wall_ns, "skew_ns": facts["thread_skew_ns"]}


def table(results, count):
    def row(name, action, key="ns", ratio_text="", target=""):
        ns, minimum = results[action][key], results[action][f"{key} min"]
        return (name, ms(ns), ms(minimum), f"{ns / count / 1e3:.2f} us", ratio_text, target)

    def ratio_of(first, second, key="ns"):
        return ratio(results[first][key], results[second][key])

    return [
        ("", "median", "minimum", "per thread", "ratio", "target"),
        row("floor: a pass", "floor"),
        row("loading the program", "floor", "load_ns", target="below 8 ms"),
        row("collection by task-iter", "iter", ratio_text=f"{ratio_of('iter', 'floor')} of the floor", target="at most 2.5"),
        row("collection by the files", "files", ratio_text=f"{ratio_of('files', 'iter')} of task-iter", target="at least 12"),
        row("skew of threads by task-iter", "iter", "skew_ns"),
        row("skew of threads by the files", "files", "skew_ns", ratio_text=f"{ratio_of('files', 'iter', 'skew_ns')} of task-iter", target="at least 8"),
        row("whole capture by task-iter", "iter", "whole_ns"),
        row("whole capture by the files", "files", "whole_ns", ratio_text=f"{ratio_of('files', 'iter', 'whole_ns')} of task-iter"),
    ]


def bench(tools, repeat, count, directory):
    """Measures a crowd of `count` threads of one process. Needs root."""
    with crowd(tools.idle, "threads", count):
        results = alternate(repeat, {
            "floor": lambda: floor(tools),
            "iter": lambda: capture(tools, "task-iter", f"{directory}/task-iter-{count}.ctprof.zst"),
            "files": lambda: capture(tools, FILES, f"{directory}/files-{count}.ctprof.zst"),
        })
    show(f"task-iter of {count:,} threads, one worker, {repeat} rounds", table(results, count))
