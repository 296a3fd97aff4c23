"""The cost of task-iter, compared with its floor (the same pass, records discarded) and with the files and netlink messages of the same metrics."""

from crowd import crowd
from measure import alternate, ms, ratio, run, show

FILES = "procfs-sched,taskstats"


def floor(tools):
    said = run([tools.task_iter_floor]).json()
    return {"ns": said["pass_ns"], "load_ns": said["load_ns"]}


def capture(tools, plugins, path):
    done = run([tools.ctprof, f"--plugins={plugins}", "capture", "-o", path, "--jobs", "1", "--no-sync", "--format", "json"])
    said = done.json()
    return {"ns": said["collect_ns"], "whole_ns": done.wall_ns, "skew_ns": said["thread_skew_ns"]}


def table(figures, count):
    def row(name, deed, figure="ns", beside="", target=""):
        ns, least = figures[deed][figure], figures[deed][f"{figure} min"]
        return (name, ms(ns), ms(least), f"{ns / count / 1e3:.2f} us", beside, target)

    def times(one, other, figure="ns"):
        return ratio(figures[one][figure], figures[other][figure])

    return [
        ("", "median", "minimum", "per thread", "ratio", "target"),
        row("floor: a pass", "floor"),
        row("loading the program", "floor", "load_ns", target="below 8 ms"),
        row("collection by task-iter", "iter", beside=f"{times('iter', 'floor')} of the floor", target="at most 2.5"),
        row("collection by the files", "files", beside=f"{times('files', 'iter')} of task-iter", target="at least 12"),
        row("skew of threads by task-iter", "iter", "skew_ns"),
        row("skew of threads by the files", "files", "skew_ns", beside=f"{times('files', 'iter', 'skew_ns')} of task-iter", target="at least 8"),
        row("whole capture by task-iter", "iter", "whole_ns"),
        row("whole capture by the files", "files", "whole_ns", beside=f"{times('files', 'iter', 'whole_ns')} of task-iter"),
    ]


def bench(tools, repeat, count, room):
    """Measures a crowd of `count` threads of one process. Needs root."""
    with crowd(tools.idle, "threads", count):
        figures = alternate(repeat, {
            "floor": lambda: floor(tools),
            "iter": lambda: capture(tools, "task-iter", f"{room}/task-iter-{count}.ctprof.zst"),
            "files": lambda: capture(tools, FILES, f"{room}/files-{count}.ctprof.zst"),
        })
    show(f"task-iter of {count:,} threads, one worker, {repeat} rounds", table(figures, count))
