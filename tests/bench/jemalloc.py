"""The cost of jemalloc-ptrace for one process of many threads, compared with plain ptrace calls and with task-iter, which stops no thread."""

import contextlib
import json
import subprocess

from measure import alternate, ms, ratio, run, show

# Offset from the thread pointer to the counters of libjemalloc.so.2 5.3.0 in a program without
# thread-local data of its own. The floor only needs readable memory there.
OFFSET = -1808


@contextlib.contextmanager
def heap_process(tools, count):
    """Runs a process of `count` threads with jemalloc."""
    child = subprocess.Popen([tools.heap, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        if child.stdout.readline() != b"ready\n":
            raise SystemExit(f"bench: could not start {count} threads under jemalloc")
        yield child.pid
    finally:
        child.communicate()


def measure_floor(tools, pid):
    return {"ns": run([tools.ptrace_floor, str(pid), str(OFFSET)]).json()["floor_ns"], "stop_ns": 0}


def measure_source(tools, plugin, pid, path):
    """Returns the source's own time, with detection from a cold cache, and the longest stop."""
    run([tools.ctprof, f"--plugins={plugin}", "capture", "--no-sync", "--jobs", "1", "--pid", str(pid), "--metrics",
         "allocated_bytes,deallocated_bytes", "-o", path])
    document = json.loads(subprocess.run(["zstd", "-dcq", path], check=True, capture_output=True).stdout)
    [cost] = [cost for cost in document["ctprof"]["sources"] if cost["stage"] == "thread"]
    return {"ns": cost["busy_ns"], "stop_ns": cost["longest_stop_ns"]}


def bench(tools, repeat, count, directory):
    """Measures one process of `count` threads; `tools.heap` is a program of tests/jemalloc."""
    path = f"{directory}/jemalloc.ctprof.zst"
    with heap_process(tools, count) as pid:
        results = alternate(repeat, {
            "floor": lambda: measure_floor(tools, pid),
            "source": lambda: measure_source(tools, "jemalloc-ptrace", pid, path),
            **({"iter": lambda: measure_source(tools, "task-iter", pid, path)} if tools.task_iter_floor.is_file() else {}),
        })

    def row(name, action, ratio_text="", target=""):
        ns, minimum = results[action]["ns"], results[action]["ns min"]
        return (name, ms(ns), ms(minimum), f"{ns / count / 1e3:.1f} us", ratio_text, target)

    rows = [("", "median", "minimum", "per thread", "ratio", "target"), row("plain ptrace", "floor"),
            row("jemalloc-ptrace", "source", f"{ratio(results['source']['ns'], results['floor']['ns'])} of the floor", "at most 1.3"),
            ("its longest stop", ms(results["source"]["stop_ns"]), ms(results["source"]["stop_ns min"]), "", "", "")]
    if "iter" in results:
        rows.append(row("task-iter", "iter", f"1/{ratio(results['source']['ns'], results['iter']['ns'])} of jemalloc-ptrace",
                        "at most 1/30"))
    show(f"Heaps of one process of {count:,} threads, {repeat} rounds", rows)
