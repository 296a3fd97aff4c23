"""CPU time of a pass of the recorder sleepers, with full records of all threads, and when no thread ran in between.

The results are minima of many passes, because other processes on the same CPUs evict caches, which affects the median."""

from crowd import crowd
from measure import ratio, run, show

CROWD = 480  # in addition to the threads of the host: about 549 in total
AT_HZ = 9


def ms(ns):
    return f"{ns / 1e6:.2f} ms"


def measure_minima(tools, repeat, passes):
    """Returns the minima over several runs."""
    runs = [run([tools.sleepers_passes, str(passes)]).json() for _ in range(repeat)]
    return {part: {key: min(one_run[part][key] for one_run in runs) for key in runs[0][part]} for part in runs[0]}


def table(results, full_target, unchanged_target):
    def row(name, part, key, target=""):
        ns, threads = results[part][key], results[part]["threads"]
        return (name, f"{threads:,}", ms(ns), f"{ns / threads / 1e3:.2f} us", f"{ns * AT_HZ / 1e7:.2f} %", target)

    return [
        ("", "threads", "minimum", "per thread", f"of a CPU at {AT_HZ} Hz", "target"),
        row("both parts, full records", "both", "whole_ns", full_target),
        row("only reading", "both", "whole_read_ns"),
        row("only the kernel part", "kernel", "whole_ns", "below 1.27 ms for 546"),
        row("no thread ran", "kernel", "again_ns", unchanged_target),
        row("no thread ran, only reading", "kernel", "again_read_ns"),
    ]


def bench(tools, repeat, counts):
    """Measures a crowd of 480 threads, and of each size in `counts`. Needs root."""
    with crowd(tools.idle, "threads", CROWD):
        results = measure_minima(tools, repeat, 300)
    show("sleepers: a pass over a small host", table(results, "1.5 ms for 549", "0.15 ms for 549"))
    for count in counts:
        with crowd(tools.idle, "threads", count):
            results = measure_minima(tools, repeat, 20)
        repeated_ns = results["both"]["again_ns"], results["kernel"]["again_ns"]
        show(f"sleepers: a pass over {count:,} idle threads", table(results, "", "10 % of a CPU at 10,000"))
        print(f"  no thread ran, ratio to only the kernel part: {ratio(*repeated_ns)}")
